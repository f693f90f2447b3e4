import StateMachineCore
import StateMachineProtocol

/// What a look into the past has brought.
enum HistoryChunk<Wanted: Sendable>: Sendable {
    /// What was made of the next few changes that are kept, and the first of these: where some are
    /// missing it is not the one after the place that was asked for.
    case found(Wanted, first: UInt64)
    /// Nothing newer is there.
    case nothing
    /// What is there cannot be read.
    case unreadable(HistoryFailure)

    /// What was made of the changes after `seq`; nil if the next one is not to be had.
    func following(_ seq: UInt64) -> Wanted? {
        switch self {
        case .found(let wanted, let first): first == seq + 1 ? wanted : nil
        case .nothing, .unreadable: nil
        }
    }
}

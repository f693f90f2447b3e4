import StateMachineCore
import StateMachineProtocol

/// The result of reading the history.
enum HistoryChunk<Wanted: Sendable>: Sendable {
    /// The value made from the next few kept changes, and the seq of the first of them.
    ///
    /// Where some are missing, that is not the one after the requested place.
    case found(Wanted, first: UInt64)
    /// There is nothing newer.
    case nothing
    /// What is there cannot be read.
    case unreadable(HistoryFailure)

    /// The value made from the changes after `seq`; nil if the next change is not available.
    func following(_ seq: UInt64) -> Wanted? {
        switch self {
        case .found(let wanted, let first): first == seq + 1 ? wanted : nil
        case .nothing, .unreadable: nil
        }
    }
}

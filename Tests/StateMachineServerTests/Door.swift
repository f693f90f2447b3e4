import StateMachineCore
import StateMachineProtocol

/// A state with rules of its own: a door that must be unlocked before it is opened.
enum DoorState: EnumState {
    case locked(by: String)
    case closed
    case open(degrees: Int)

    enum Name: String, CaseIterable, Sendable {
        case locked
        case closed
        case open
    }

    static let initial = DoorState.closed
    static var examples: [DoorState] { [.locked(by: ""), .closed, .open(degrees: 0)] }

    var successors: Set<Name> {
        switch self {
        case .locked: [.closed]
        case .closed: [.locked, .open]
        case .open: [.open, .closed]
        }
    }
}

extension EnumState {
    /// The state as a server has it.
    var value: Value {
        TypedValue(self)
    }
}

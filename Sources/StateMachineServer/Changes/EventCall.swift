import StateMachineProtocol

/// A request to a machine that takes more than `set`.
enum EventCall: Sendable {
    case send(SendCall)
    case update(UpdateCall)

    /// What the call is about, for people.
    var name: String {
        switch self {
        case .send(let call): call.event.excerpt()
        case .update: "update"
        }
    }

    var data: JSONValue? {
        switch self {
        case .send(let call): call.data
        case .update(let call): call.data
        }
    }

    var cause: String? {
        switch self {
        case .send(let call): call.cause
        case .update(let call): call.cause
        }
    }

    /// The refusal of a machine that does not support the call.
    var foreign: WireError {
        switch self {
        case .send: WireError(.unknownEvent, "this machine has no events; set a state")
        case .update:
            WireError(.unknownOperation, "this machine's states are set as a whole: set")
        }
    }
}

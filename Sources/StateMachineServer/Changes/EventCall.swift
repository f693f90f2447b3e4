import StateMachineProtocol

/// What is asked of a machine that does more than being set.
enum EventCall: Sendable {
    case send(SendCall)
    case update(UpdateCall)

    /// What it is about, for people.
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

    /// The answer of a machine that has nothing of the kind.
    var foreign: WireError {
        switch self {
        case .send: WireError(.unknownEvent, "this machine has no events; set a state")
        case .update:
            WireError(.unknownOperation, "this machine's states are set as a whole: set")
        }
    }
}

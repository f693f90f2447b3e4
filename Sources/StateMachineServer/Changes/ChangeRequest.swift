import StateMachineCore
import StateMachineProtocol

/// What a client asks to have changed, by a `set`, a `send` or an `update`.
struct ChangeRequest: Sendable {
    /// What is asked for; indirect, so that a request is small.
    indirect enum Wanted: Sendable {
        /// That state.
        case state(Value, ChangeCall)
        /// What comes of an event, or of an update.
        case event(EventCall)
    }

    let wanted: Wanted
    /// Why, carried by the change.
    let cause: String?
    /// The request's.
    let id: RequestID?
    /// Who asks; nil if it leads to a move of the machine's own.
    let setter: Peer?

    init(_ wanted: Wanted, cause: String?, id: RequestID?, by setter: Peer?) {
        self.wanted = wanted
        self.cause = cause
        self.id = id
        self.setter = setter
    }

    /// The state that was asked for, if one was.
    var state: Value? {
        switch self.wanted {
        case .state(let state, _): state
        case .event: nil
        }
    }

    /// Whether it is an event, whose answer says whether the state asks for it.
    var isSend: Bool {
        if case .event(.send) = self.wanted { true } else { false }
    }

    /// Where the machine is to be; nil for what does not matter.
    var conditions: (seq: UInt64?, stay: UInt64?, patterns: PatternList?) {
        switch self.wanted {
        case .state(_, let call): (call.ifSeq, call.ifStay, call.ifState)
        case .event(.send(let call)): (call.ifSeq, call.ifStay, call.ifState)
        case .event(.update(let call)): (call.ifSeq, call.ifStay, call.ifState)
        }
    }

    /// Where the machine was to be, and is not, for people.
    func expected(at current: EncodedSnapshot) -> String {
        let (seq, stay, patterns) = self.conditions
        if let seq, seq != current.seq { return "seq \(seq)" }
        if let stay, stay != current.stay?.seq ?? current.seq { return "stay \(stay)" }
        return patterns?.written ?? "another state"
    }
}

/// A request to a machine that takes more than `set`.
enum EventCall: Sendable {
    case send(ChangeCall)
    case update(ChangeCall)

    /// What the call is about, for people.
    var name: String {
        switch self {
        case .send(let call): call.name.excerpt()
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
            WireError(.unknownOperation, "this machine has no update; set the whole state")
        }
    }
}

/// What a `set` requires of the machine: its seq, its state, its stay.
///
/// Of a set that is decided at once the core compares a seq alone: ``Move/Condition``.
extension Move.Condition {
    /// All of the request's conditions; a seq alone costs no closure.
    init(_ call: ChangeCall, by schema: any Schema) {
        guard call.asksForState else {
            self.init(seq: call.ifSeq)
            return
        }
        self = .holds { schema.matches(call.ifSeq, call.ifState, call.ifStay, $0) }
    }
}

extension Schema {
    /// Whether the machine is where a `set` expects it to be; nil expects nothing.
    func matches(
        _ seq: UInt64?,
        _ patterns: PatternList?,
        _ stay: UInt64?,
        _ place: Place
    ) -> Bool {
        (seq.map { $0 == place.seq } ?? true)
            && (stay.map { $0 == place.stay } ?? true)
            && (patterns?.contains { self.matches($0, place.value) } ?? true)
    }
}

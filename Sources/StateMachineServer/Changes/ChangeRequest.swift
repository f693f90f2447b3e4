import StateMachineCore
import StateMachineProtocol

/// What a client asks to have changed, by a `set`, a `send` or an `update`.
struct ChangeRequest: Sendable {
    /// What is asked for.
    enum Wanted: Sendable {
        /// That state.
        case state(Value, SetCall)
        /// What comes of an event, or of an update.
        ///
        /// Indirect, so that a set is small.
        indirect case event(EventCall)
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
        return patterns?.written ?? "another"
    }
}

import StateMachineCore
import StateMachineProtocol

/// What a `set` requires of the machine: its seq, its state, its stay.
///
/// Of a set that is decided at once the core compares a seq alone: ``Move/Condition``.
extension Move.Condition {
    /// All of the request's conditions; a seq alone costs no closure.
    init(_ call: SetCall, by schema: any Schema) {
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

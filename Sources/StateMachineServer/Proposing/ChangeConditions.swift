import StateMachineCore
import StateMachineProtocol

/// What a `set` requires of the machine: its seq, its state, its stay.
extension Move.Condition {
    /// All of the request's conditions, its cursors placed; a seq alone costs no closure.
    init(_ expected: ChangeCondition, by schema: Schema) {
        switch expected.ifSeq {
        case nil where !expected.asksForState: self.init(seq: nil)
        case .seq(let seq) where !expected.asksForState: self.init(seq: seq)
        case nil, .seq, .cursor: self = .holds { schema.matches(expected, $0) }
        }
    }
}

extension Schema {
    /// Whether the machine is where a request expects it to be.
    func matches(_ expected: ChangeCondition, _ place: Place) -> Bool {
        (expected.ifSeq.map { $0.seq == place.seq } ?? true)
            && (expected.ifStay.map { $0.seq == place.stay } ?? true)
            && (expected.ifState?.contains { self.matches($0, place.value) } ?? true)
    }
}

import StateMachineClient

/// What is known of a machine that is looked at.
struct MachineView: Sendable {
    /// Changes that are kept.
    ///
    /// 200: more rows than any terminal has.
    private static let kept = 200

    let target: MachineTarget
    /// What its file calls it.
    var name: String?
    /// How it was when it was asked last; nil until it has answered.
    private(set) var status: MachineStatus?
    /// Why it does not answer; nil as long as it does.
    private(set) var error: String?
    /// The newest first.
    private(set) var changes: [Line] = []

    /// Where its doors are, if that was said.
    var directory: String? { self.target.options.runtimeDirectory }

    init(_ target: MachineTarget) { self.target = target }

    mutating func answered(_ status: MachineStatus) {
        self.status = status
        self.error = nil
    }

    mutating func failed(_ error: String) { self.error = error }

    /// A change has come, or an old one, in whatever order.
    mutating func take(_ change: Line) {
        let seq = change.seq ?? 0
        guard !self.changes.contains(where: { $0.seq == seq }) else { return }
        let place = self.changes.firstIndex { ($0.seq ?? 0) < seq } ?? self.changes.count
        self.changes.insert(change, at: place)
        self.changes.removeLast(max(0, self.changes.count - Self.kept))
    }

    /// Those of another numbering say nothing any more.
    mutating func beganAnew() { self.changes = [] }
}

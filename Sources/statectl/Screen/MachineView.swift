import StateMachineClient

/// What is known about a machine on the screen.
struct MachineView: Sendable {
    /// The most changes that are kept.
    ///
    /// 200: more rows than any terminal has.
    private static let kept = 200

    let target: MachineTarget
    /// The machine's name in its file.
    var name: String?
    /// Its status when it last answered; nil until it has.
    private(set) var status: MachineStatus?
    /// Why it does not answer; nil as long as it does.
    private(set) var error: String?
    /// The changes, the newest first.
    private(set) var changes: [Line] = []

    /// The instance's name and the machine's, as far as they are known and differ.
    var title: String {
        guard let instance = self.target.options.machine.first else {
            return self.name ?? "statemachine"
        }
        return self.name.map { $0 == instance ? $0 : "\(instance) (\($0))" } ?? instance
    }

    /// The directory of its doors, if it was given.
    var directory: String? { self.target.options.runtimeDirectory }

    init(_ target: MachineTarget) { self.target = target }

    /// Takes an answer; returns whether it has to be shown at once, as by all that follow.
    @discardableResult
    mutating func answered(_ status: MachineStatus) -> Bool {
        let isFirst = self.status == nil || self.error != nil
        let isNew = self.status?.state.seq != status.state.seq
        (self.status, self.error) = (status, nil)
        return isFirst || isNew
    }

    @discardableResult
    mutating func failed(_ error: String) -> Bool {
        self.error = error
        return true
    }

    /// Takes a change, new or old, in any order.
    @discardableResult
    mutating func take(_ change: Line) -> Bool {
        let seq = change.seq ?? 0
        guard !self.changes.contains(where: { $0.seq == seq }) else { return false }
        let place = self.changes.firstIndex { ($0.seq ?? 0) < seq } ?? self.changes.count
        self.changes.insert(change, at: place)
        self.changes.removeLast(max(0, self.changes.count - Self.kept))
        return false
    }

    /// Drops the changes of an earlier numbering, which say nothing any more.
    @discardableResult
    mutating func beganAnew() -> Bool {
        self.changes = []
        return false
    }
}

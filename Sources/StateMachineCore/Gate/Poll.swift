/// The votes on one question, from the moment it is put until it is decided.
///
/// Guarded state, behind `count`: the tally, and the alarms of voters that are waited for. Nothing
/// is called under that lock.
final class Poll: Sendable {
    private struct Count: Sendable {
        var tally: VoteTally
        var alarms: [Alarm] = []
    }

    private let count: Lock<Count>
    private let decided: @Sendable (Verdict) -> Void

    init(
        _ question: Question,
        voters: [ObjectIdentifier: VoteTally.Voter],
        decided: @escaping @Sendable (Verdict) -> Void
    ) {
        self.count = Lock(Count(tally: VoteTally(question, voters: voters)))
        self.decided = decided
    }

    /// Begins a question that may have nobody to ask; called once.
    func begin() { self.end(with: self.count.withLock { $0.tally.begun() }) }

    /// Sets the voters' deadlines, before they are asked; called once.
    func setAlarms(_ limits: [ObjectIdentifier: Duration], on clock: any Clock<Duration>) {
        let alarms = limits.map { id, limit in
            Alarm(after: limit, on: clock) { [weak self] in self?.ring(for: id) }
        }
        self.count.withLock { count in
            if count.tally.isOpen { count.alarms = alarms }
        }
    }

    /// Returns whether the vote counts: it is the voter's first, and the question is open.
    func vote(_ vote: Vote, by voter: ObjectIdentifier) -> Bool {
        let (counts, verdict) = self.count.withLock { $0.tally.voted(vote, by: voter) }
        self.end(with: verdict)
        return counts
    }

    /// The voter has vanished: it is waited for no longer.
    func release(_ voter: ObjectIdentifier) { _ = self.vote(.abstain, by: voter) }

    /// The asker no longer wants to know: the answer is no, and no vote counts.
    func withdraw() { self.end(with: self.count.withLock { $0.tally.withdrawn() }) }

    private func ring(for voter: ObjectIdentifier) {
        self.end(with: self.count.withLock { $0.tally.deadlinePassed(for: voter) })
    }

    private func end(with verdict: Verdict?) {
        guard let verdict else { return }
        let alarms = self.count.withLock { count in
            defer { count.alarms = [] }
            return count.alarms
        }
        for alarm in alarms { alarm.stop() }
        self.decided(verdict)
    }
}

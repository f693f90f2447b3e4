/// The votes on one question, from the moment it is put until it is decided.
///
/// Guarded state, behind `count`: the tally, the alarms of voters that are waited for, and whom to
/// tell. Nothing is called under that lock.
final class Poll: Sendable {
    private struct Count: Sendable {
        var tally: VoteTally
        var alarms: [Alarm] = []
        /// Called once, and let go of then: a machine's log may end with the question, and the
        /// machine is in the closure.
        var decided: (@Sendable (Verdict) -> Void)?
    }

    private let count: Lock<Count>

    init(
        _ question: Question,
        voters: [ObjectIdentifier: VoteTally.Voter],
        decided: @escaping @Sendable (Verdict) -> Void
    ) {
        self.count = Lock(Count(tally: VoteTally(question, voters: voters), decided: decided))
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
        let (alarms, decided) = self.count.withLock { count in
            (exchange(&count.alarms, with: []), count.decided.take())
        }
        for alarm in alarms { alarm.stop() }
        decided?(verdict)
    }
}

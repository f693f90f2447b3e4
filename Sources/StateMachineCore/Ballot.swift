/// One question to a machine's voters, from the moment it is put until it is decided.
///
/// Guarded state, behind `poll`: the tally, and the alarms of those that are waited for. Nothing is
/// called under that lock.
final class Ballot<State: MachineState>: Sendable {
    private struct Poll: Sendable {
        var tally: Tally
        var alarms: [Alarm] = []
    }

    let proposal: Proposal<State>
    private let asked: [ObjectIdentifier: VoterMember<State>]
    private let poll: Lock<Poll>
    private let decided: @Sendable (Ballot, Tally.Verdict) -> Void

    init(
        on proposal: Proposal<State>,
        under question: Question,
        voters: [VoterMember<State>],
        decided: @escaping @Sendable (Ballot, Tally.Verdict) -> Void
    ) {
        self.proposal = proposal
        self.asked = [ObjectIdentifier: VoterMember<State>](
            uniqueKeysWithValues: voters.map { (ObjectIdentifier($0), $0) }
        )
        let terms = self.asked.mapValues { voter in
            Tally.Voter(
                label: voter.terms.label,
                peer: voter.terms.peer,
                whenSilent: voter.terms.patience?.whenSilent ?? question.whenSilent
            )
        }
        self.poll = Lock(Poll(tally: Tally(question, voters: terms)))
        self.decided = decided
    }

    /// Sets the voters' deadlines; before or after they are asked, but once.
    func setAlarms(under question: Question, waited: Duration, clock: any Clock<Duration>) {
        var alarms: [Alarm] = []
        for (id, voter) in self.asked {
            let patience = voter.terms.patience
            guard let limit = patience == nil ? question.deadline : patience?.limit else {
                continue
            }
            let left =
                switch patience?.counting ?? .fromAsking {
                case .fromAsking: limit
                case .fromArrival: max(.zero, limit - waited)
                }
            alarms.append(Alarm(after: left, on: clock) { [weak self] in self?.ring(for: id) })
        }
        let isOver = self.poll.withLock { poll in
            if poll.tally.isOpen { poll.alarms = alarms }
            return !poll.tally.isOpen
        }
        if isOver {
            for alarm in alarms { alarm.stop() }
        }
    }

    func asks(_ voter: Member<State>) -> Bool { self.asked[ObjectIdentifier(voter)] != nil }

    /// Returns whether the vote counts: it is the voter's first, and the question is open.
    func vote(_ vote: Vote, by voter: ObjectIdentifier) -> Bool {
        let (counts, verdict) = self.poll.withLock { $0.tally.voted(vote, by: voter) }
        self.end(with: verdict)
        return counts
    }

    /// The voter has vanished: it is waited for no longer.
    func release(_ voter: ObjectIdentifier) { _ = self.vote(.abstain, by: voter) }

    private func ring(for voter: ObjectIdentifier) {
        self.end(with: self.poll.withLock { $0.tally.deadlinePassed(for: voter) })
    }

    private func end(with verdict: Tally.Verdict?) {
        guard let verdict else { return }
        let alarms = self.poll.withLock { poll in
            defer { poll.alarms = [] }
            return poll.alarms
        }
        for alarm in alarms { alarm.stop() }
        self.decided(self, verdict)
    }
}

/// One question to a machine's voters, from the moment it is put until it is decided.
struct Ballot: Sendable {
    let motion: Motion
    private let asked: [ObjectIdentifier: VoterMember]
    private let poll: Poll

    init(
        on motion: Motion,
        under question: Question,
        voters: [VoterMember],
        decided: @escaping @Sendable (Verdict) -> Void
    ) {
        self.motion = motion
        self.asked = [ObjectIdentifier: VoterMember](
            uniqueKeysWithValues: voters.map { (ObjectIdentifier($0), $0) }
        )
        let voters = self.asked.mapValues { voter in
            VoteTally.Voter(
                label: voter.terms.label,
                peer: voter.terms.peer,
                whenSilent: voter.terms.deadline?.whenSilent ?? voter.terms.whenSilent
                    ?? question.whenSilent
            )
        }
        self.poll = Poll(question, voters: voters, decided: decided)
    }

    /// Sets the voters' deadlines, before they are asked; called once.
    func setAlarms(under question: Question, waited: Duration, clock: any Clock<Duration>) {
        let limits = self.asked.compactMapValues { voter -> Duration? in
            guard let deadline = voter.terms.deadline else { return question.deadline }
            guard let limit = deadline.limit else { return nil }
            switch deadline.counting {
            case .fromAsking: return limit
            case .fromArrival: return max(.zero, limit - waited)
            }
        }
        self.poll.setAlarms(limits, on: clock)
    }

    func asks(_ voter: Member) -> Bool { self.asked[ObjectIdentifier(voter)] != nil }

    func vote(_ vote: Vote, by voter: ObjectIdentifier) -> Bool {
        self.poll.vote(vote, by: voter)
    }

    /// The proposer no longer wants it: the voters' answer counts as no.
    func withdraw() { self.poll.withdraw() }

    /// The voter has vanished: it is waited for no longer.
    func release(_ voter: ObjectIdentifier) { self.poll.release(voter) }
}

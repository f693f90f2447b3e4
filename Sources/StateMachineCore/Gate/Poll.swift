/// The votes on one question, from the moment it is put until it is decided.
///
/// Guarded state, behind `count`: the tally, the alarms of voters that are waited for, and whom to
/// tell. Nothing is called under that lock. `@unchecked Sendable`: it has a subclass, of constants.
class Poll: @unchecked Sendable {
    private struct Count: Sendable {
        var tally: VoteTally
        var alarms: [Alarm] = []
        /// Called once it is decided, beside `decided`.
        var rest: (@Sendable () -> Void)?
        /// Called once, and let go of then: a machine's log may end with the question, and the
        /// machine is in the closure.
        var decided: (@Sendable (Verdict) -> Void)?
    }

    private let count: Lock<Count>

    /// Without `decided` it waits for those whom it is put to later.
    init(
        _ question: Question,
        voters: [UInt64: VoteTally.Voter],
        decided: (@Sendable (Verdict) -> Void)? = nil
    ) {
        self.count = Lock(Count(tally: VoteTally(question, voters: voters), decided: decided))
    }

    /// Begins a question that may have nobody to ask; called once.
    func begin() { self.close(with: self.count.withLock { $0.tally.begun() }) }

    /// Asks more, and has `decided` called in place of whom it would have told.
    ///
    /// - Returns: the verdict, if it is decided all the same; then nobody is told.
    fileprivate func join(
        _ voters: [UInt64: VoteTally.Voter],
        decided: @escaping @Sendable (Verdict) -> Void
    ) -> Verdict? {
        // What it replaces is released after the lock.
        let (verdict, _) = self.count.withLock { count in
            let verdict = count.tally.joined(voters)
            return (verdict, exchange(&count.decided, with: verdict == nil ? decided : nil))
        }
        return verdict
    }

    /// Sets voters' deadlines, before they are asked.
    func setAlarms(_ limits: [UInt64: Duration], on clock: any Clock<Duration>) {
        let alarms = limits.map { id, limit in
            Alarm(after: limit, on: clock) { [weak self] in _ = self?.vote(nil, by: id) }
        }
        self.count.withLock { count in
            if count.tally.isOpen { count.alarms += alarms }
        }
    }

    /// Has `rest` called once it is decided; called once.
    func onceDecided(_ rest: @escaping @Sendable () -> Void) {
        let isOpen = self.count.withLock { count in
            if count.tally.isOpen { count.rest = rest }
            return count.tally.isOpen
        }
        if !isOpen { rest() }
    }

    /// Counts a vote; nil: the voter has been silent for too long.
    ///
    /// - Returns: whether it counts: it is the voter's first, and the question is open.
    func vote(_ vote: Vote?, by voter: UInt64) -> Bool {
        let (counts, verdict) = self.count.withLock { $0.tally.voted(vote, by: voter) }
        self.close(with: verdict)
        return counts
    }

    func awaits(_ voter: UInt64) -> Bool {
        self.count.withLock { $0.tally.awaits(voter) }
    }

    /// The voter has vanished: it is waited for no longer.
    func release(_ voter: UInt64) { _ = self.vote(.abstain, by: voter) }

    /// The asker no longer wants to know: the answer is no, and no vote counts.
    func withdraw() { self.close(with: self.count.withLock { $0.tally.withdrawn() }) }

    private func close(with verdict: Verdict?) {
        guard let verdict else { return }
        let (alarms, decided, rest) = self.count.withLock { count in
            (exchange(&count.alarms, with: []), count.decided.take(), count.rest.take())
        }
        for alarm in alarms { alarm.stop() }
        rest?()
        decided?(verdict)
    }
}

/// One question to a machine's voters, from the moment it is put until it is decided.
///
/// It is put to those who are there, and then to each who comes before its answer is carried out: one count for all.
///
/// Guarded state: `asked` is the gate's, under the machine's lock.
final class Ballot: Poll, @unchecked Sendable {
    let motion: Motion
    let question: Question
    private let age: @Sendable () -> QuestionAge
    /// Whom it was put to, by number: who comes may have the place in memory of one that has gone.
    private var asked: Set<UInt64> = []

    /// A question that has been put to nobody yet.
    init(
        on motion: Motion,
        under question: Question,
        aged age: @escaping @Sendable () -> QuestionAge
    ) {
        (self.motion, self.question, self.age) = (motion, question, age)
        super.init(question, voters: [:])
    }

    /// For how long it has been waited for; under no lock, since a clock is read.
    var ageNow: QuestionAge { self.age() }

    /// Whether it was put to that voter.
    func asks(_ voter: VoterMember) -> Bool { self.asked.contains(voter.number) }

    /// Puts it to these as well; `decided` is called in place of whom it would have told.
    ///
    /// - Returns: the verdict, if it is decided all the same; then nobody is told.
    func put(
        to voters: [VoterMember],
        decided: @escaping @Sendable (Verdict) -> Void
    ) -> Verdict? {
        self.asked.formUnion(voters.lazy.map(\.number))
        let terms = voters.map { voter in
            let terms = VoteTally.Voter(
                label: voter.terms.label,
                claim: voter.terms.claim,
                peer: voter.terms.peer,
                host: voter.terms.host,
                whenSilent: voter.terms.deadline?.whenSilent ?? voter.terms.whenSilent
                    ?? self.question.whenSilent
            )
            return (voter.number, terms)
        }
        return self.join(
            [UInt64: VoteTally.Voter](uniqueKeysWithValues: terms),
            decided: decided
        )
    }
}

/// A question as put to one voter; it is answered once, now or later, from anywhere.
///
/// Releasing it unanswered abstains, so a voter that is gone is not waited for.
package class Reply: @unchecked Sendable {
    private let poll: Poll
    private let voter: UInt64

    init(to poll: Poll, by voter: UInt64) {
        self.poll = poll
        self.voter = voter
    }

    /// Answers.
    ///
    /// If this decides a question of a machine's, the state has been assigned when it returns, unless a log commits it
    /// first.
    ///
    /// - Returns: whether the vote counts; a second or late one does not.
    @discardableResult
    package final func vote(_ vote: Vote) -> Bool { self.poll.vote(vote, by: self.voter) }

    /// Whether both are about one question, put to two voters.
    package final func isOfOneQuestion(with other: Reply) -> Bool { self.poll === other.poll }

    /// Whether the question waits for it.
    package final var isAwaited: Bool { self.poll.awaits(self.voter) }

    deinit { self.poll.release(self.voter) }
}

/// A machine's question as put to one voter.
package final class Ask: Reply, @unchecked Sendable {
    /// What is asked about.
    package let motion: Motion
    /// How long the voter is waited for, from when it is asked; nil: until it votes or vanishes.
    package let limit: Duration?

    init(_ question: QuestionEntry, to voter: VoterMember) {
        self.motion = question.ballot.motion
        self.limit = question.limits[voter.number]
        super.init(to: question.ballot, by: voter.number)
    }
}

extension MulticastDelegate {
    /// Asks all delegates that respond to `facet`, at the same time, each on its own context.
    ///
    /// The answer may come later than the call. No thread waits.
    ///
    /// - Parameters:
    ///   - facet: the facet to ask.
    ///   - question: how votes are counted, and how long to wait for them.
    ///   - put: puts the question to one delegate, on its context, with a closure that answers it,
    ///     now or later, from anywhere; releasing that unanswered abstains.
    ///   - completion: called with the denials, once, by the thread that brings the last vote;
    ///     before this returns if there is nobody to ask. Without denials it may happen.
    public func ask<Facet: Sendable>(
        _ facet: Facet.Type,
        _ question: Question = Question(),
        put: @escaping @Sendable (Facet, _ reply: @escaping @Sendable (Vote) -> Void) -> Void,
        completion: @escaping @Sendable (_ denials: [Vote.Denial]) -> Void
    ) {
        _ = self.poll(
            facet,
            question,
            put: { facet, reply in put(facet) { reply.vote($0) } },
            completion: { completion($0.denials) }
        )
    }

    private func poll<Facet: Sendable>(
        _ facet: Facet.Type,
        _ question: Question,
        put: @escaping @Sendable (Facet, Reply) -> Void,
        completion: @escaping @Sendable (Verdict) -> Void
    ) -> Poll {
        let responders = self.responders(to: facet)
        let voters = [ObjectIdentifier: VoteTally.Voter](
            uniqueKeysWithValues: responders.map { recipient in
                (
                    ObjectIdentifier(recipient),
                    VoteTally.Voter(label: recipient.label, whenSilent: question.whenSilent)
                )
            }
        )
        let poll = Poll(question, voters: voters, decided: completion)
        guard !responders.isEmpty else {
            poll.begin()
            return poll
        }
        if let deadline = question.deadline {
            poll.setAlarms(voters.mapValues { _ in deadline }, on: self.clock)
        }
        self.post(to: responders) { members, mayCall in
            for recipient in members {
                let id = ObjectIdentifier(recipient)
                let isAsked =
                    mayCall
                    && recipient.call(facet) { put($0, Reply(poll, voter: id)) }
                // Gone or cancelled since then: not waited for.
                if !isAsked { poll.release(id) }
            }
        }
        return poll
    }

    /// Asks all delegates that respond to `facet` and answer at once, and suspends until it is
    /// decided.
    ///
    /// It ends when the task is cancelled: the answer is then a no, `withdrawn`, and later votes do
    /// not count.
    ///
    /// - Parameters:
    ///   - facet: the facet to ask.
    ///   - question: how votes are counted, and how long to wait for them.
    ///   - vote: returns one delegate's vote, on its context.
    /// - Returns: the denials; without any it may happen. The first no decides, so there is one at
    ///   most unless a yes was needed; ``amend(_:_:_:_:)`` goes from one to the next and can gather
    ///   what all have to say.
    public func ask<Facet: Sendable>(
        _ facet: Facet.Type,
        _ question: Question = Question(),
        _ vote: @escaping @Sendable (Facet) -> Vote
    ) async -> [Vote.Denial] {
        let withdrawal = Withdrawal()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let poll = self.poll(
                    facet,
                    question,
                    put: { $1.vote(vote($0)) },
                    completion: { continuation.resume(returning: $0.denials) }
                )
                withdrawal.has { poll.withdraw() }
            }
        } onCancel: {
            withdrawal.withdraw()
        }
    }

    /// Lets all delegates that respond to `facet` change `value`, one after the other in order of
    /// registration, each on its own context.
    ///
    /// It ends when the task is cancelled: the value is then suppressed, and no other delegate is
    /// asked.
    ///
    /// - Parameters:
    ///   - facet: the facet to ask.
    ///   - value: what the first delegate is given.
    ///   - question: its deadline is how long to wait for each; one that is silent for longer
    ///     changes nothing if that counts as a yes, and else suppresses the value. One that is gone
    ///     changes nothing.
    ///   - step: one delegate's change, on its context; nil suppresses the value.
    /// - Returns: the value as the last one left it; nil if it was suppressed.
    public func amend<Facet: Sendable, Value: Sendable>(
        _ facet: Facet.Type,
        _ value: Value,
        _ question: Question = Question(),
        _ step: @escaping @Sendable (Facet, Value) -> Value?
    ) async -> Value? {
        var value = value
        for recipient in self.responders(to: facet) {
            let amended = await self.amend(facet, by: recipient, value, question, step)
            guard let amended, !Task.isCancelled else { return nil }
            value = amended
        }
        return value
    }

    private func amend<Facet: Sendable, Value: Sendable>(
        _ facet: Facet.Type,
        by recipient: Recipient,
        _ value: Value,
        _ question: Question,
        _ step: @escaping @Sendable (Facet, Value) -> Value?
    ) async -> Value? {
        let withdrawal = Withdrawal()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
                let answer = Once<Value?>(continuation)
                withdrawal.has { answer.give(nil) }
                let silent: Value? =
                    switch question.whenSilent {
                    case .yes, .abstain: value
                    case .no: nil
                    }
                // Kept while the step is waited for.
                if let deadline = question.deadline {
                    answer.keep(Alarm(after: deadline, on: self.clock) { answer.give(silent) })
                }
                self.post(to: [recipient]) { _, mayCall in
                    let isAsked = mayCall && recipient.call(facet) { answer.give(step($0, value)) }
                    if !isAsked { answer.give(value) }
                }
            }
        } onCancel: {
            withdrawal.withdraw()
        }
    }
}

/// One delegate's answer to a question, given once; releasing it unanswered abstains.
private final class Reply: Sendable {
    private let poll: Poll
    private let voter: ObjectIdentifier

    init(_ poll: Poll, voter: ObjectIdentifier) {
        self.poll = poll
        self.voter = voter
    }

    func vote(_ vote: Vote) { _ = self.poll.vote(vote, by: self.voter) }

    deinit { self.poll.release(self.voter) }
}

extension MulticastDelegate {
    /// Asks everybody who responds to `facet`, at the same time, each on its own context.
    ///
    /// The answer may come later than the call. No thread waits.
    ///
    /// - Parameters:
    ///   - facet: who is asked.
    ///   - question: how votes are counted, and how long they are waited for.
    ///   - put: puts the question to one of them, on its context, with what answers it, now or later, from anywhere;
    ///     what is let go of without an answer abstains.
    ///   - completion: told who says no, once, by whoever brings the last vote; before this returns if nobody
    ///     is there to be asked. It may happen if nobody does.
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
                // Gone or cancelled since: not waited for.
                if !isAsked { poll.release(id) }
            }
        }
        return poll
    }

    /// Asks everybody who responds to `facet` and answers at once, and suspends until it is decided.
    ///
    /// It ends when the task is cancelled: the answer is a no then, `withdrawn`, and later votes do not count.
    ///
    /// - Parameters:
    ///   - facet: who is asked.
    ///   - question: how votes are counted, and how long they are waited for.
    ///   - vote: one delegate's vote, on its context.
    /// - Returns: who says no; it may happen if nobody does. The first no decides, so that it is one unless a yes was needed;
    ///   ``amend(_:_:_:_:)`` goes from one to the next and can gather what all have to say.
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

    /// Lets everybody who responds to `facet` change `value`, one after the other in order of
    /// registration, each on its own context.
    ///
    /// It ends when the task is cancelled: the value is suppressed then, and nobody else is asked.
    ///
    /// - Parameters:
    ///   - facet: who is asked.
    ///   - value: what the first one is given.
    ///   - question: its deadline is how long each is waited for; one that is silent for longer, or
    ///     gone, changes nothing if that counts as a yes, and else suppresses the value.
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
                // Held for as long as the step is waited for.
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

/// One delegate's answer to a question, given once; letting go of it unanswered abstains.
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

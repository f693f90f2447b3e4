extension MulticastDelegate {
    /// One delegate's answer to a question, given once, now or later, from anywhere.
    ///
    /// Letting go of it unanswered abstains.
    public final class Reply: Sendable {
        private let poll: Poll
        private let voter: ObjectIdentifier

        fileprivate init(_ poll: Poll, voter: ObjectIdentifier) {
            self.poll = poll
            self.voter = voter
        }

        /// Answers; false if the vote does not count, being a second or a late one.
        @discardableResult
        public func vote(_ vote: Vote) -> Bool { self.poll.vote(vote, by: self.voter) }

        deinit { self.poll.release(self.voter) }
    }

    /// Asks everybody who responds to `facet`, at the same time, each on its own context.
    ///
    /// The answer may come later than the call. No thread waits.
    ///
    /// - Parameters:
    ///   - facet: who is asked.
    ///   - question: how votes are counted, and how long they are waited for.
    ///   - put: puts the question to one of them, on its context.
    ///   - completion: told the verdict, once, by whoever brings it; before this returns if nobody
    ///     is there to be asked.
    public func ask<Facet: Sendable>(
        _ facet: Facet.Type,
        _ question: Question = Question(),
        put: @escaping @Sendable (Facet, Reply) -> Void,
        completion: @escaping @Sendable (Verdict) -> Void
    ) { _ = self.poll(facet, question, put: put, completion: completion) }

    private func poll<Facet: Sendable>(
        _ facet: Facet.Type,
        _ question: Question,
        put: @escaping @Sendable (Facet, Reply) -> Void,
        completion: @escaping @Sendable (Verdict) -> Void
    ) -> Poll {
        let responders = self.responders(to: facet)
        let voters = [ObjectIdentifier: Tally.Voter](
            uniqueKeysWithValues: responders.map { recipient in
                (
                    ObjectIdentifier(recipient),
                    Tally.Voter(label: recipient.label, whenSilent: question.whenSilent)
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
    /// It ends when the task is cancelled: the answer is a no of the ``Denial/withdrawn`` question then,
    /// and later votes do not count.
    ///
    /// - Parameters:
    ///   - facet: who is asked.
    ///   - question: how votes are counted, and how long they are waited for.
    ///   - vote: one delegate's vote, on its context.
    /// - Returns: the verdict.
    public func ask<Facet: Sendable>(
        _ facet: Facet.Type,
        _ question: Question = Question(),
        _ vote: @escaping @Sendable (Facet) -> Vote
    ) async -> Verdict {
        let withdrawal = Withdrawal()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let poll = self.poll(
                    facet,
                    question,
                    put: { $1.vote(vote($0)) },
                    completion: { continuation.resume(returning: $0) }
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

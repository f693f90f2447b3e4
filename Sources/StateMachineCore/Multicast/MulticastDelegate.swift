/// Many delegates, each on its own execution context, behind what looks like one.
///
/// A delegate is an object and a context; the same object may be registered on several. What a
/// delegate responds to is expressed by small protocols, facets, which stand for optional methods:
/// an object that conforms to a facet hears what is sent to it. Keep the multicast delegate private
/// to the sender.
///
/// ```swift
/// protocol EnemyWatching: AnyObject, Sendable { func appeared(_ enemy: Enemy) }
///
/// let watchers = MulticastDelegate<AnyObject>()
/// watchers.add(radar, on: .queue(radarQueue))
/// watchers.broadcast((any EnemyWatching).self) { $0.appeared(enemy) }
/// ```
///
/// `D` is what every delegate has to be; `AnyObject` for anything.
///
/// A facet is `Sendable`, as delegates are, so the compiler refuses a conformance that holds on one
/// actor only.
///
/// Guarded state, behind `roster`: the delegates in order of registration, and a lane for each
/// context. Broadcasts are appended to the lanes under that lock, so all contexts agree on their
/// order; nothing is called under it, and nothing of a client's is released.
public final class MulticastDelegate<D>: Sendable {
    private let roster = Lock(Roster())
    private let callLimit: Int
    let clock: any Clock<Duration>
    private let missed: @Sendable (_ delegate: AnyObject, _ count: Int) -> Void
    private let unheard: @Sendable (_ facet: String) -> Void

    /// A multicast delegate without delegates yet.
    ///
    /// - Parameters:
    ///   - clock: the clock that deadlines are measured with.
    ///   - callLimit: calls that may wait for one context; beyond that the oldest is dropped, and
    ///     `missed` reports it for each delegate it was for. A dropped question counts as one that
    ///     nobody there answers. 65,536: no burst is as long, and a stuck context keeps some 20 MB.
    ///     Not tuned.
    ///   - unheard: called with a facet's name each time nobody has responded to a broadcast: on
    ///     the broadcasting thread if there was no responder, else on the context that found out
    ///     last.
    ///   - missed: called on the context of a delegate that missed calls, before its next one, with
    ///     the delegate and how many calls, the oldest, it will never hear of.
    public init(
        clock: any Clock<Duration> = ContinuousClock(),
        callLimit: Int = 65_536,
        unheard: @escaping @Sendable (_ facet: String) -> Void = { _ in },
        missed: @escaping @Sendable (_ delegate: AnyObject, _ count: Int) -> Void = { _, _ in }
    ) {
        precondition(callLimit > 0, "a context has to have room for one call")
        self.clock = clock
        self.callLimit = callLimit
        self.missed = missed
        self.unheard = unheard
    }

    /// Adds `delegate`, to be called on `context`, after the present ones.
    ///
    /// A pair that is already registered keeps its place. A delegate that is no `D` is a
    /// programming error and ends the process.
    ///
    /// - Parameters:
    ///   - delegate: the delegate to call.
    ///   - context: where it is called.
    ///   - label: its name when it votes no; nil: its type.
    ///   - retaining: whether it is kept alive until its registration is cancelled.
    /// - Returns: its registration.
    @discardableResult
    public func add<Delegate: AnyObject & Sendable>(
        _ delegate: Delegate,
        on context: any ExecutionContext,
        label: String? = nil,
        retaining: Bool = false
    ) -> Registration {
        precondition(
            delegate is D,
            "\(Delegate.self) was added as a delegate, but does not conform to \(D.self)"
        )
        let label = label ?? "\(Delegate.self)"
        // Asked before the lock: a context may be a client's.
        let identity = context.identity
        let fresh = CallLane(on: context, identity: identity, limit: self.callLimit)
        let (recipient, isSweepDue) = self.roster.withLock { roster -> (Recipient, Bool) in
            let present = roster.pairs(of: delegate).first { $0.context == identity }
            if let present { return (present, false) }
            let lane = roster.lane(of: identity) ?? fresh
            let recipient = Recipient(
                delegate,
                in: lane,
                label: label,
                retaining: retaining,
                missed: self.missed
            )
            roster.append(recipient)
            return (recipient, roster.isSweepDue())
        }
        if isSweepDue { self.sweep() }
        return Registration(
            end: { [weak self] in
                recipient.cancel()
                self?.leave([recipient])
            },
            endQuietly: { [weak self] quiet in
                recipient.cancel(quiet: quiet)
                self?.leave([recipient])
            },
            giveKept: { [weak self] given in
                guard let self else { return given() }
                self.flush(recipient, then: given)
            }
        )
    }

    /// Removes `delegate` from `context`, or from everywhere; no call begins after this returns.
    public func remove(_ delegate: AnyObject, on context: (any ExecutionContext)? = nil) {
        let identity = context?.identity
        let leaving = self.roster.withLock { roster in
            roster.pairs(of: delegate).filter { identity == nil || $0.context == identity }
        }
        for recipient in leaving { recipient.cancel() }
        self.leave(leaving)
    }

    /// How many delegates respond to `facet`.
    public func count<Facet: Sendable>(of facet: Facet.Type) -> Int {
        self.responders(to: facet).count
    }

    /// Calls all delegates that respond to `facet`, each on its own context, in order; waits for
    /// none.
    ///
    /// Contexts are woken in order of registration; `.immediate`, whose delegates the calling
    /// thread itself calls, comes last.
    ///
    /// - Parameters:
    ///   - facet: the facet to call.
    ///   - call: run for each, on its context.
    /// - Returns: how many were addressed; one of them may be gone before its turn.
    @discardableResult
    public func broadcast<Facet: Sendable>(
        _ facet: Facet.Type,
        _ call: @escaping @Sendable (Facet) -> Void
    ) -> Int {
        let responders = self.responders(to: facet)
        let unheard = self.unheard
        guard !responders.isEmpty else {
            unheard("\(facet)")
            return 0
        }
        let groups = Self.groups(of: responders)
        let deliveryCount = DeliveryCount(lanes: groups.count) { wasHeard in
            if !wasHeard { unheard("\(facet)") }
        }
        self.post(to: groups) { members, mayCall in
            var isHeard = false
            for recipient in members where mayCall {
                if recipient.call(facet, call) { isHeard = true }
            }
            deliveryCount.pass(hearing: isHeard)
        }
        return responders.count
    }

    /// All live responders; determined under no lock, since a delegate may die meanwhile.
    func responders<Facet: Sendable>(to facet: Facet.Type) -> [Recipient] {
        let all = self.roster.withLock { $0.slots }
        var gone: [Recipient] = []
        let responders = all.compactMap { recipient -> Recipient? in
            guard let recipient else { return nil }
            if recipient.responds(to: facet) { return recipient }
            if recipient.isGone { gone.append(recipient) }
            return nil
        }
        self.leave(gone)
        return responders
    }

    /// The recipients grouped by context, in order of registration, with inline ones last.
    private static func groups(of recipients: [Recipient]) -> [[Recipient]] {
        var indices: [ObjectIdentifier: Int] = [:]
        var groups: [[Recipient]] = []
        for recipient in recipients {
            let lane = ObjectIdentifier(recipient.lane)
            if let index = indices[lane] {
                groups[index].append(recipient)
            } else {
                indices[lane] = groups.count
                groups.append([recipient])
            }
        }
        let isInline = { (members: [Recipient]) in members.first?.lane.isInline == true }
        return groups.filter { !isInline($0) } + groups.filter(isInline)
    }

    /// Appends `turn` to each context, with those of `recipients` that are there; atomic across
    /// contexts.
    func post(
        to recipients: [Recipient],
        _ turn: @escaping @Sendable (_ members: [Recipient], _ mayCall: Bool) -> Void
    ) { self.post(to: Self.groups(of: recipients), turn) }

    private func post(
        to groups: [[Recipient]],
        _ turn: @escaping @Sendable (_ members: [Recipient], _ mayCall: Bool) -> Void
    ) {
        let missed = self.roster.withLock { _ in
            groups.compactMap { members in
                members.first?.lane.append(CallLane.Call(members: members, turn: turn))
            }
        }
        for call in missed { call.make(mayCall: false) }
        for members in groups { members.first?.lane.wake() }
    }

    /// Calls `given` when the calls that wait for the recipient have been made, or it is cancelled.
    private func flush(_ recipient: Recipient, then given: @escaping @Sendable () -> Void) {
        let waiter = Waiter(given)
        guard recipient.wait(waiter) else { return given() }
        // Of nobody's, so that nobody is told of it as missed.
        let call = CallLane.Call(members: []) { _, _ in
            recipient.forget(waiter)
            waiter.tell()
        }
        let missed = self.roster.withLock { _ in recipient.lane.append(call) }
        missed?.make(mayCall: false)
        recipient.lane.wake()
    }

    private func leave(_ leaving: [Recipient]) {
        guard !leaving.isEmpty else { return }
        // Those that leave are released after the lock: a delegate's context may go with them.
        self.roster.withLock { roster in
            for recipient in leaving { roster.remove(recipient) }
        }
    }

    /// Removes delegates that are gone, without having to call anybody.
    private func sweep() {
        let all = self.roster.withLock { $0.slots }
        self.leave(all.compactMap(\.self).filter(\.isGone))
    }
}

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
        // One that is removed is waited for no longer, though its context may be stuck.
        let leavings = responders.map { recipient in
            (recipient, Waiter { poll.release(ObjectIdentifier(recipient)) })
        }
        for (recipient, waiter) in leavings where !recipient.wait(waiter) { waiter.tell() }
        poll.onceDecided { for (recipient, waiter) in leavings { recipient.forget(waiter) } }
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
                // One that is removed changes nothing, though its context may be stuck.
                let leaving = Waiter { answer.give(value) }
                guard recipient.wait(leaving) else { return leaving.tell() }
                // Kept while the step is waited for.
                if let deadline = question.deadline {
                    answer.keep(Alarm(after: deadline, on: self.clock) { answer.give(silent) })
                }
                self.post(to: [recipient]) { _, mayCall in
                    let isAsked = mayCall && recipient.call(facet) { answer.give(step($0, value)) }
                    if !isAsked { answer.give(value) }
                    recipient.forget(leaving)
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

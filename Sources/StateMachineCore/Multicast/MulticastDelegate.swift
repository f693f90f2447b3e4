import Synchronization

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
/// Guarded state, behind `audience`: the delegates, and a drain for each context. Broadcasts are
/// appended to the drains under that lock, so all contexts agree on their order; nothing is called
/// under it, and nothing of a client's is released.
public final class MulticastDelegate<D>: Sendable {
    /// The delegates on one context that something is for.
    private typealias Group = (drain: Drain, members: [Recipient])

    private let audience = Lock(Audience())
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
        precondition(callLimit > 0, "callLimit must be at least 1")
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
        let fresh = Recipient(delegate, label: label, retaining: retaining, missed: self.missed)
        let (member, swept) = self.audience.withLock { audience -> (Member, [Drain]) in
            let drain = audience.drain(at: identity) {
                Drain(on: context, identity, callLimit: self.callLimit)
            }
            if let present = drain.member(representing: delegate) { return (present, []) }
            audience.add(fresh, of: self, to: drain)
            return (fresh, audience.drainsToSweep())
        }
        swept.endGone()
        return Registration(of: member)
    }

    /// Removes `delegate` from `context`, or from everywhere; no call begins after this returns.
    public func remove(_ delegate: AnyObject, on context: (any ExecutionContext)? = nil) {
        let identity = context?.identity
        let leaving = self.audience.withLock { $0.members(representing: delegate, at: identity) }
        for member in leaving { member.end() }
    }

    /// How many delegates respond to `facet`.
    public func count<Facet: Sendable>(of facet: Facet.Type) -> Int {
        self.responders(to: facet).reduce(0) { $0 + $1.members.count }
    }

    /// Calls all delegates that respond to `facet`, each on its own context, in order; waits for
    /// none.
    ///
    /// Contexts are woken in order of registration; `.immediate`, whose delegates the calling
    /// thread itself calls, comes last. As with a machine, a thread makes 256 calls there and then leaves
    /// the rest to the next thread that broadcasts, which waits for the call that is running; so does one
    /// that finds more than 512 unmade.
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
        let groups = self.responders(to: facet)
        let unheard = self.unheard
        guard !groups.isEmpty else {
            unheard("\(facet)")
            return 0
        }
        let count = DeliveryCount(drains: groups.count) { wasHeard in
            if !wasHeard { unheard("\(facet)") }
        }
        self.post(to: groups) { members, mayCall in
            var isHeard = false
            for recipient in members where mayCall {
                if recipient.call(facet, call) { isHeard = true }
            }
            count.pass(hearing: isHeard)
        }
        return groups.reduce(0) { $0 + $1.members.count }
    }

    /// All live responders; determined under no lock, since a delegate may die meanwhile.
    private func responders<Facet: Sendable>(to facet: Facet.Type) -> [Group] {
        let drains = self.audience.withLock { $0.drains }
        return drains.compactMap { drain -> Group? in
            let members = drain.allMembers.compactMap { member -> Recipient? in
                guard let recipient = member as? Recipient else { return nil }
                if recipient.responds(to: facet) { return recipient }
                if recipient.isGone { recipient.end() }
                return nil
            }
            return members.isEmpty ? nil : (drain, members)
        }
    }

    /// Has `turn` run on each context, with those who are meant there; atomic across contexts.
    ///
    /// There they are first told how many calls they have missed.
    private func post(
        to groups: [Group],
        _ turn: @escaping @Sendable (_ members: [Recipient], _ mayCall: Bool) -> Void
    ) {
        let missed = self.audience.withLock { _ in
            groups.compactMap { drain, members in
                drain.append(
                    .init { losses in
                        let mayCall = losses != nil
                        for recipient in members { recipient.misses(nothing: mayCall) }
                        turn(members, mayCall)
                    }
                )
            }
        }
        for call in missed { call.make(nil) }
        for (drain, _) in groups { drain.wakeForCall() }
    }
}

extension MulticastDelegate: MemberOwner {
    func remove(_ member: Member) {
        let left = self.audience.withLock { $0.remove(member) }
        left?.leave()
    }

    func drain(of member: Member) -> (drain: Drain, newest: UInt64)? {
        self.audience.withLock { $0.drain(of: member) }.map { ($0, $0.newestCall) }
    }
}

/// A delegate on its context.
///
/// Guarded state: `facets` caches, behind its lock, what the object was found to respond to;
/// `missed` is atomic.
final class Recipient: Member, @unchecked Sendable {
    let label: String
    private let facets = Lock<[ObjectIdentifier: Bool]>([:])
    private let missed = Atomic<Int>(0)
    private let tellMissed: @Sendable (AnyObject, Int) -> Void

    init(
        _ object: any AnyObject & Sendable,
        label: String,
        retaining isRetaining: Bool,
        missed: @escaping @Sendable (AnyObject, Int) -> Void
    ) {
        self.label = label
        self.tellMissed = missed
        super.init(
            Terms(receiver: object, isRetaining: isRetaining, object: ObjectIdentifier(object))
        )
    }

    func responds<Facet: Sendable>(to facet: Facet.Type) -> Bool {
        self.responds(to: ObjectIdentifier(facet)) { $0 is Facet }
    }

    /// `isResponding` is called with the object once for each facet.
    func responds(to facet: ObjectIdentifier, asking isResponding: (AnyObject) -> Bool) -> Bool {
        guard !self.isCancelled, let object = self.receiver else { return false }
        if let known = self.facets.withLock({ $0[facet] }) { return known }
        let responds = isResponding(object)
        self.facets.withLock { $0[facet] = responds }
        return responds
    }

    /// Calls the object, on its own context and in its turn; returns whether it did.
    func call<Facet>(_ facet: Facet.Type, _ body: (Facet) -> Void) -> Bool {
        self.callGuard.run {
            guard let object = self.receiver as? Facet else { return false }
            body(object)
            return true
        }
    }

    /// Counts a call that was dropped; or tells, before one that is made, how many were.
    func misses(nothing mayCall: Bool) {
        guard mayCall else {
            self.missed.add(1, ordering: .sequentiallyConsistent)
            return
        }
        let count = self.missed.exchange(0, ordering: .sequentiallyConsistent)
        guard count > 0 else { return }
        self.call { if let object = self.receiver { self.tellMissed(object, count) } }
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
        let groups = self.responders(to: facet)
        let responders = groups.flatMap(\.members)
        let voters = [UInt64: VoteTally.Voter](
            uniqueKeysWithValues: responders.map { recipient in
                (
                    recipient.number,
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
            (recipient, Once<Void> { poll.release(recipient.number) })
        }
        for (recipient, waiter) in leavings where !recipient.callGuard.wait(waiter) {
            waiter.give(())
        }
        let vigil = Vigil(over: responders, for: question, on: self.clock)
        poll.onceDecided {
            vigil.end()
            for (recipient, waiter) in leavings { recipient.callGuard.forget(waiter) }
        }
        self.post(to: groups) { members, mayCall in
            for recipient in members {
                let id = recipient.number
                let isAsked =
                    mayCall
                    && recipient.call(facet) { put($0, Reply(to: poll, by: id)) }
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
        await Withdrawal.awaited { continuation, withdrawal in
            let poll = self.poll(
                facet,
                question,
                put: { $1.vote(vote($0)) },
                completion: { continuation.resume(returning: $0.denials) }
            )
            withdrawal.has { poll.withdraw() }
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
        let groups = self.responders(to: facet)
        let recipients = groups.flatMap { drain, members in members.map { (drain, $0) } }
        for (drain, recipient) in recipients.sorted(by: { $0.1.number < $1.1.number }) {
            let amended = await self.amend(facet, by: (drain, [recipient]), value, question, step)
            guard let amended, !Task.isCancelled else { return nil }
            value = amended
        }
        return value
    }

    private func amend<Facet: Sendable, Value: Sendable>(
        _ facet: Facet.Type,
        by group: Group,
        _ value: Value,
        _ question: Question,
        _ step: @escaping @Sendable (Facet, Value) -> Value?
    ) async -> Value? {
        guard let recipient = group.members.first else { return value }
        let silent: Value? =
            switch question.whenSilent {
            case .yes, .abstain: value
            case .no: nil
            }
        let vigil = Vigil(over: [recipient], for: question, on: self.clock)
        defer { vigil.end() }
        return await Once.answer(orIfCancelled: nil) { answer in
            // One that is removed changes nothing, though its context may be stuck.
            let leaving = Once<Void> { answer.give(value) }
            guard recipient.callGuard.wait(leaving) else {
                leaving.give(())
                return nil
            }
            let alarm = question.deadline.map {
                Alarm(after: $0, on: self.clock) { answer.give(silent) }
            }
            self.post(to: [group]) { _, mayCall in
                let isAsked = mayCall && recipient.call(facet) { answer.give(step($0, value)) }
                if !isAsked { answer.give(value) }
                recipient.callGuard.forget(leaving)
            }
            return alarm
        }
    }
}

/// Ends delegates whose objects go while a question waits for them.
///
/// Nothing tells when an object goes, so this looks. Guarded state, behind `next`: whether it is over, and the alarm of
/// the next look.
private final class Vigil: Sendable {
    private let recipients: [Recipient]
    private let clock: any Clock<Duration>
    private let next = Lock<(isOver: Bool, alarm: Alarm?)>((false, nil))

    /// Between two looks, and how long a question may wait without one.
    ///
    /// 1 s: as long as a question waits unless it says otherwise. Not tuned.
    private static var interval: Duration { .seconds(1) }

    /// Begins to look, unless the question is over before it would.
    init(over recipients: [Recipient], for question: Question, on clock: any Clock<Duration>) {
        self.recipients = recipients
        self.clock = clock
        if question.deadline.map({ $0 > Self.interval }) ?? true { self.lookLater() }
    }

    private func lookLater() {
        let alarm = Alarm(after: Self.interval, on: self.clock) { [weak self] in self?.look() }
        let last = self.next.withLock { $0.isOver ? alarm : exchange(&$0.alarm, with: alarm) }
        last?.stop()
    }

    private func look() {
        for recipient in self.recipients where recipient.isGone { recipient.end() }
        self.lookLater()
    }

    /// Looks no more.
    func end() {
        let last = self.next.withLock { next in
            next.isOver = true
            return next.alarm.take()
        }
        last?.stop()
    }
}

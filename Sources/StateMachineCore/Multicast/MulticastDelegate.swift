/// Many delegates, each on its own execution context, behind what looks like one.
///
/// A delegate is an object and a context; the same object may be there on several. What a delegate
/// responds to is said by small protocols, facets, which stand for optional methods: whoever conforms
/// to a facet hears what is sent to it. Keep it private to whoever sends.
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
/// A facet is `Sendable`, as delegates are; so a conformance that holds on one actor only is refused by the
/// compiler.
///
/// Guarded state, behind `roster`: the delegates in order of registration, and a lane for each
/// context. Broadcasts are appended to the lanes under that lock, so all contexts agree on their
/// order; nothing is called under it, and nothing of a client's let go of.
public final class MulticastDelegate<D>: Sendable {
    private let roster = Lock(Roster())
    private let callLimit: Int
    let clock: any Clock<Duration>
    private let missed: @Sendable (_ delegate: AnyObject, _ count: Int) -> Void
    private let unheard: @Sendable (_ facet: String) -> Void

    /// Nobody yet.
    ///
    /// - Parameters:
    ///   - clock: what deadlines are measured with.
    ///   - callLimit: calls that may wait for one context; past it the oldest is not made, and `missed` is told of
    ///     those that it was for. A question counts as one that nobody
    ///     there answers. 65,536: no burst is as long, and a context that is stuck keeps some 20 MB. Not
    ///     tuned.
    ///   - unheard: called with a facet's name each time when nobody has responded to a broadcast:
    ///     on the broadcasting thread if nobody was there, else on the context that found out last.
    ///   - missed: called on the context of a delegate that was not called, before what it is called for next: who it
    ///     is, and how many calls, the oldest, it will never hear of.
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

    /// Adds `delegate`, to be called on `context`, after those that are there.
    ///
    /// A pair that is there already keeps its place. A delegate that is no `D` is a programming error
    /// and ends the process.
    ///
    /// - Parameters:
    ///   - delegate: who is called.
    ///   - context: where.
    ///   - label: what it is called when it votes no; nil: its type.
    ///   - retaining: whether it is kept alive until its registration is cancelled.
    /// - Returns: its place.
    @discardableResult
    public func add<Delegate: AnyObject & Sendable>(
        _ delegate: Delegate,
        on context: any ExecutionContext,
        label: String? = nil,
        retaining: Bool = false
    ) -> Registration {
        precondition(
            delegate is D,
            "\(Delegate.self) was added as a delegate, but it is no \(D.self)"
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

    /// How many there are who respond to `facet`.
    public func count<Facet: Sendable>(of facet: Facet.Type) -> Int {
        self.responders(to: facet).count
    }

    /// Calls everybody who responds to `facet`, each on its own context, in order; waits for nobody.
    ///
    /// Contexts are woken in order of registration; who is called by the calling thread itself,
    /// `.immediate`, comes last.
    ///
    /// - Parameters:
    ///   - facet: whom it is for.
    ///   - call: made for each, on its context.
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

    /// Everybody alive who responds; asked for under no lock, since a delegate may die meanwhile.
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

    /// Those on one context each, in order of registration, but such as are called inline last.
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

    /// Hands `turn` to each context, with those of `recipients` that are there; all contexts get
    /// theirs in one cut.
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

    private func leave(_ leaving: [Recipient]) {
        guard !leaving.isEmpty else { return }
        // What leaves is let go of after the lock: with it a delegate's context may go.
        self.roster.withLock { roster in
            for recipient in leaving { roster.remove(recipient) }
        }
    }

    /// Those that are gone leave, so that nobody has to be called for that.
    private func sweep() {
        let all = self.roster.withLock { $0.slots }
        self.leave(all.compactMap(\.self).filter(\.isGone))
    }
}

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

import Synchronization

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
/// Guarded state, behind `roster`: the delegates in order of registration, and a lane for each
/// context. Broadcasts are appended to the lanes under that lock, so all contexts agree on their
/// order; nothing is called under it.
public final class MulticastDelegate<D>: Sendable {
    struct Roster: Sendable {
        var recipients: [Recipient] = []
        var lanes: [ObjectIdentifier: CallLane] = [:]
    }

    let roster = Lock(Roster())
    let clock: any Clock<Duration>
    private let unheard: @Sendable (_ facet: String) -> Void

    /// Nobody yet.
    ///
    /// - Parameters:
    ///   - clock: what deadlines are measured with.
    ///   - unheard: called with a facet's name each time when nobody has responded to a broadcast:
    ///     on the broadcasting thread if nobody was there, else on the context that found out last.
    public init(
        clock: any Clock<Duration> = ContinuousClock(),
        unheard: @escaping @Sendable (_ facet: String) -> Void = { _ in }
    ) {
        self.clock = clock
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
    ///   - holding: whether it is kept alive.
    /// - Returns: its place.
    @discardableResult
    public func add<Delegate: AnyObject & Sendable>(
        _ delegate: Delegate,
        on context: any ExecutionContext,
        label: String? = nil,
        holding: Holding = .weak
    ) -> Registration {
        precondition(
            delegate is D,
            "\(Delegate.self) was added as a delegate, but it is no \(D.self)"
        )
        let label = label ?? "\(Delegate.self)"
        let recipient = self.roster.withLock { roster in
            let identity = context.identity
            let present = roster.recipients.first {
                $0.represents(delegate) && $0.context == identity && !$0.isCancelled
            }
            if let present { return present }
            let lane = roster.lanes[identity] ?? CallLane(on: context)
            let fresh = Recipient(delegate, in: lane, label: label, holding: holding)
            roster.recipients.append(fresh)
            roster.lanes[identity] = lane
            return fresh
        }
        return Registration(
            end: { [weak self] in
                recipient.cancel()
                self?.purge()
            },
            endQuietly: { [weak self] quiet in
                recipient.cancel(quiet: quiet)
                self?.purge()
            }
        )
    }

    /// Removes `delegate` from `context`, or from everywhere; no call begins after this returns.
    public func remove(_ delegate: AnyObject, on context: (any ExecutionContext)? = nil) {
        let identity = context?.identity
        let leaving = self.roster.withLock { roster in
            roster.recipients.filter {
                $0.represents(delegate) && (identity == nil || $0.context == identity)
            }
        }
        for recipient in leaving { recipient.cancel() }
        self.purge()
    }

    /// How many there are who respond to `facet`.
    public func count<Facet>(of facet: Facet.Type) -> Int { self.responders(to: facet).count }

    /// Calls everybody who responds to `facet`, each on its own context, in order; waits for nobody.
    ///
    /// - Parameters:
    ///   - facet: whom it is for.
    ///   - call: made for each, on its context.
    /// - Returns: how many were addressed; one of them may be gone before its turn.
    @discardableResult
    public func broadcast<Facet>(
        _ facet: Facet.Type,
        _ call: @escaping @Sendable (Facet) -> Void
    ) -> Int {
        let responders = self.responders(to: facet)
        let unheard = self.unheard
        guard !responders.isEmpty else {
            unheard("\(facet)")
            return 0
        }
        let contexts = Set(responders.map { ObjectIdentifier($0.lane) }).count
        let passage = Passage(lanes: contexts) { wasHeard in
            if !wasHeard { unheard("\(facet)") }
        }
        self.post(to: responders) { members, mayCall in
            var isHeard = false
            for recipient in members where mayCall {
                if recipient.call(facet, call) { isHeard = true }
            }
            passage.pass(hearing: isHeard)
        }
        return responders.count
    }

    /// Everybody alive who responds; asked for under no lock, since a delegate may die meanwhile.
    func responders<Facet>(to facet: Facet.Type) -> [Recipient] {
        let all = self.roster.withLock { $0.recipients }
        let responders = all.filter { $0.responds(to: facet) }
        if all.contains(where: \.isGone) { self.purge() }
        return responders
    }

    /// Hands `turn` to each context, with those of `recipients` that are there; all contexts get
    /// theirs in one cut.
    func post(
        to recipients: [Recipient],
        _ turn: @escaping @Sendable (_ members: [Recipient], _ mayCall: Bool) -> Void
    ) {
        let groups = [ObjectIdentifier: [Recipient]](grouping: recipients) {
            ObjectIdentifier($0.lane)
        }
        self.roster.withLock { _ in
            for members in groups.values {
                members.first?.lane.append { mayCall in turn(members, mayCall) }
            }
        }
        for members in groups.values { members.first?.lane.wake() }
    }

    private func purge() {
        // What leaves is let go of after the lock: with it a delegate's context may go.
        _ = self.roster.withLock { roster -> Roster in
            let before = roster
            roster.recipients.removeAll { $0.isCancelled || $0.isGone }
            let contexts = Set(roster.recipients.map(\.context))
            roster.lanes = roster.lanes.filter { contexts.contains($0.key) }
            return before
        }
    }
}

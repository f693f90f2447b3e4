import Synchronization

/// A delegate of a ``MulticastDelegate`` and its context.
///
/// Guarded state: `callGuard` guards the calls; `facets` remembers behind its lock what the object has
/// been found to respond to; `strong` is let go of by its cancelling; `missed` is atomic.
final class Recipient: Sendable {
    let lane: CallLane
    let label: String
    /// Whose it is: by number only, which may be another's when the object has died.
    let object: ObjectIdentifier

    private let strong: Lock<(any AnyObject & Sendable)?>
    private weak let weak: (any AnyObject & Sendable)?
    private let callGuard = CallGuard()
    private let facets = Lock<[ObjectIdentifier: Bool]>([:])
    private let missed = Atomic<Int>(0)
    private let tellMissed: @Sendable (AnyObject, Int) -> Void

    init(
        _ object: any AnyObject & Sendable,
        in lane: CallLane,
        label: String,
        retaining: Bool,
        missed: @escaping @Sendable (AnyObject, Int) -> Void
    ) {
        self.lane = lane
        self.label = label
        self.object = ObjectIdentifier(object)
        self.weak = object
        self.strong = Lock(retaining ? object : nil)
        self.tellMissed = missed
    }

    var context: ObjectIdentifier { self.lane.identity }
    /// Asked under no lock: what it looks with may be the last that holds the object.
    var isGone: Bool { self.weak == nil }
    var isCancelled: Bool { self.callGuard.isCancelled }

    /// By number and life: a dead object's number may be another's by now.
    ///
    /// It lets nothing go: whoever asks holds the only object that can be found.
    func represents(_ object: AnyObject) -> Bool {
        self.object == ObjectIdentifier(object) && self.weak === object
    }

    func cancel() {
        self.callGuard.cancel()
        self.letGo()
    }

    func cancel(quiet: @escaping @Sendable () -> Void) {
        self.callGuard.cancel(quiet: quiet)
        self.letGo()
    }

    /// Of an object that was held strongly; after the lock, for its end may run a client's code.
    private func letGo() { _ = self.strong.withLock { $0.take() } }

    func responds<Facet: Sendable>(to facet: Facet.Type) -> Bool {
        self.responds(to: ObjectIdentifier(facet)) { $0 is Facet }
    }

    /// `isResponding` is asked of the object once for each facet.
    func responds(to facet: ObjectIdentifier, asking isResponding: (AnyObject) -> Bool) -> Bool {
        guard !self.isCancelled, let object = self.weak else { return false }
        if let known = self.facets.withLock({ $0[facet] }) { return known }
        let responds = isResponding(object)
        self.facets.withLock { $0[facet] = responds }
        return responds
    }

    /// Calls the object, on its own context and in its lane's turn; returns whether it did.
    func call<Facet>(_ facet: Facet.Type, _ body: (Facet) -> Void) -> Bool {
        self.callGuard.run {
            guard let object = self.weak as? Facet else { return false }
            body(object)
            return true
        }
    }

    /// A call of it was not made; returns whether that is the first one that it has to be told of.
    func misses() -> Bool {
        self.missed.add(1, ordering: .sequentiallyConsistent).oldValue == 0
    }

    /// Tells how many calls the object missed.
    func hearMissed() {
        let count = self.missed.exchange(0, ordering: .sequentiallyConsistent)
        guard count > 0 else { return }
        _ = self.callGuard.run {
            guard let object = self.weak else { return false }
            self.tellMissed(object, count)
            return true
        }
    }
}

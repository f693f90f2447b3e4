import Synchronization

/// A delegate of a ``MulticastDelegate`` and its context.
///
/// Guarded state: `callGuard` guards the calls; `facets` caches, behind its lock, what the object
/// was found to respond to; `strong` is released by cancelling; `missed` is atomic.
final class Recipient: Sendable {
    let lane: CallLane
    let label: String
    /// The object's identifier, which may be reused once the object has died.
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
    /// Asked under no lock: loading the weak reference holds the object for a moment, and that may
    /// be the last hold on it.
    var isGone: Bool { self.weak == nil }
    var isCancelled: Bool { self.callGuard.isCancelled }

    /// By identifier and lifetime: a dead object's identifier may be reused.
    ///
    /// It releases nothing: the caller holds the only object that can be found.
    func represents(_ object: AnyObject) -> Bool {
        self.object == ObjectIdentifier(object) && self.weak === object
    }

    func cancel() { self.cancel {} }

    func cancel(quiet: @escaping @Sendable () -> Void) {
        self.callGuard.cancel(quiet: quiet)
        self.letGo()
    }

    /// Has `waiter` told when it is cancelled, and no call runs; false if that is so already.
    func wait(_ waiter: Waiter) -> Bool { self.callGuard.wait(waiter) }

    func forget(_ waiter: Waiter) { self.callGuard.forget(waiter) }

    /// Releases an object held strongly; after the lock, since its deinit may run a client's code.
    private func letGo() { _ = self.strong.withLock { $0.take() } }

    func responds<Facet: Sendable>(to facet: Facet.Type) -> Bool {
        self.responds(to: ObjectIdentifier(facet)) { $0 is Facet }
    }

    /// `isResponding` is called with the object once for each facet.
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

    /// Counts a call that was dropped; returns whether it is the first that has yet to be reported.
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

/// A delegate of a ``MulticastDelegate`` and its context.
///
/// Guarded state: `claim` guards the calls; `facets` remembers behind its lock what the object has
/// been found to respond to. `@unchecked Sendable`: `weak` is never reassigned.
final class Recipient: @unchecked Sendable {
    let lane: CallLane
    let label: String

    private let identifier: ObjectIdentifier
    private let strong: (any AnyObject & Sendable)?
    private weak var weak: (any AnyObject & Sendable)?
    private let claim = Claim()
    private let facets = Lock<[ObjectIdentifier: Bool]>([:])

    init(
        _ object: any AnyObject & Sendable,
        in lane: CallLane,
        label: String,
        holding: Holding
    ) {
        self.lane = lane
        self.label = label
        self.identifier = ObjectIdentifier(object)
        self.weak = object
        self.strong =
            switch holding {
            case .weak: nil
            case .strong: object
            }
    }

    var context: ObjectIdentifier { self.lane.identity }
    var isGone: Bool { self.weak == nil }
    var isCancelled: Bool { self.claim.isCancelled }

    /// By number and life: a dead object's number may be another's by now.
    func represents(_ object: AnyObject) -> Bool {
        self.identifier == ObjectIdentifier(object) && self.weak === object
    }

    func cancel() { self.claim.cancel() }

    func cancel(quiet: @escaping @Sendable () -> Void) { self.claim.cancel(quiet: quiet) }

    func responds<Facet>(to facet: Facet.Type) -> Bool {
        self.responds(to: ObjectIdentifier(facet)) { $0 is Facet }
    }

    /// `isResponding` is asked of the object once for each facet.
    func responds(to facet: ObjectIdentifier, asking isResponding: (AnyObject) -> Bool) -> Bool {
        guard !self.isCancelled, !self.isGone else { return false }
        if let known = self.facets.withLock({ $0[facet] }) { return known }
        guard let object = self.weak else { return false }
        let responds = isResponding(object)
        self.facets.withLock { $0[facet] = responds }
        return responds
    }

    /// Calls the object, on its own context and in its lane's turn; returns whether it did.
    func call<Facet>(_ facet: Facet.Type, _ body: (Facet) -> Void) -> Bool {
        self.claim.run {
            guard let object = self.weak as? Facet else { return false }
            body(object)
            return true
        }
    }
}

/// One context's calls, in order, one at a time.
///
/// Guarded state, behind `calls`: what is to be called, and whether somebody is at it.
final class CallLane: Sendable {
    typealias Call = @Sendable (_ mayCall: Bool) -> Void

    private struct Calls: Sendable {
        var waiting: [Call] = []
        var isScheduled = false
    }

    let identity: ObjectIdentifier
    private let context: any ExecutionContext
    private let calls = Lock(Calls())

    init(on context: any ExecutionContext) {
        self.context = context
        self.identity = context.identity
    }

    /// Under the lock that orders the calls.
    func append(_ call: @escaping Call) { self.calls.withLock { $0.waiting.append(call) } }

    /// Under no lock.
    func wake() {
        let isOurs = self.calls.withLock { calls in
            // Another thread's drain may have taken what this one appended.
            guard !calls.isScheduled, !calls.waiting.isEmpty else { return false }
            calls.isScheduled = true
            return true
        }
        guard isOurs else { return }
        if let refusing = self.context as? any RefusingContext {
            // Nobody is called on a context that has ended, and nobody waits for it either.
            if !refusing.accepts({ self.drain(mayCall: true) }) { self.drain(mayCall: false) }
        } else {
            self.context.enqueue { self.drain(mayCall: true) }
        }
    }

    private func drain(mayCall: Bool) {
        while true {
            let calls = self.calls.withLock { calls in
                let waiting = calls.waiting
                calls.waiting = []
                if waiting.isEmpty { calls.isScheduled = false }
                return waiting
            }
            guard !calls.isEmpty else { return }
            for call in calls { call(mayCall) }
        }
    }
}

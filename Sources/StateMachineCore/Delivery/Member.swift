import Synchronization

/// One registration on a context, from one entry on until cancelled.
///
/// Guarded state:
/// - `number`, `since`, `sinceSeq`, `place`, `owner`, `drain`: written once, under the owner's lock, before
///   the drain can see the member.
/// - `beginning`: written there too, and the drain's own after that.
/// - `callGuard`: taken for every call, by the drain, one call at a time.
/// - `isAsked`: whether a turn is asked for.
/// - `hasLetGo`: whether it was cancelled and has released what it held.
/// - `retained`: released once, when no call runs and none will begin.
class Member: @unchecked Sendable {
    // What each call reads stands together, at the beginning and at the end, where what is called follows: with a
    // thousand members, the memory that is read is most of what a call costs.

    /// Hears the entries after this one.
    private(set) final var since: UInt64 = 0
    final let callGuard = CallGuard()
    /// The object whose lifetime bounds the member, and whether there is one.
    final weak let receiver: (any AnyObject & Sendable)?
    fileprivate final let hasReceiver: Bool

    /// Whether ``burstEnded()`` does anything; claiming the call guard for nothing would cost every
    /// delegate.
    final let hearsBurstEnds: Bool

    /// What it hears first.
    final let start: Start

    /// The states whose changes it hears of; nil: all.
    final let names: Set<String>?

    /// Its place among all members of its owner.
    private(set) final var number: UInt64 = 0
    /// The machine's seq when it was registered.
    private final var sinceSeq: UInt64 = 0
    /// The identity of the context on which it is called.
    private(set) final var drainIdentity: ObjectIdentifier?
    private(set) final weak var owner: (any MemberOwner)?
    /// What calls it; it outlives the owner while it has something to tell.
    private final weak var drain: Drain?

    /// The object that it represents; nil: none, and nobody will look it up.
    final let object: ObjectIdentifier?
    private final var retained: (any AnyObject & Sendable)?

    private final let isAsked = Atomic<Bool>(false)
    private final let hasLetGo = Atomic<Bool>(false)

    /// The state that it hears of before everything else; nil: none, or it has heard of it.
    private final var beginning: Place?

    /// What it hears, and for whom.
    struct Terms {
        /// The states that it hears of; nil: all.
        var names: Set<String>?
        var start = Start.next
        /// The object whose lifetime bounds it; nil: it lasts until cancelled.
        var receiver: (any AnyObject & Sendable)?
        /// Whether the object is kept alive until then.
        var isRetaining = false
        /// The delegate that it represents; nil: none.
        var object: ObjectIdentifier?
    }

    /// With `hearsBurstEnds`: whether it is told of the end of a burst.
    init(_ terms: Terms = Terms(), hearingBurstEnds hearsBurstEnds: Bool = false) {
        self.names = terms.names
        self.start = terms.start
        self.receiver = terms.receiver
        self.hasReceiver = terms.receiver != nil
        self.retained = terms.isRetaining ? terms.receiver : nil
        self.object = terms.object
        self.hearsBurstEnds = hearsBurstEnds
    }

    /// Called under the owner's lock, before the drain can see the member.
    final func begin(
        as number: UInt64,
        of owner: any MemberOwner,
        in drain: Drain,
        after position: UInt64,
        from here: Place?
    ) {
        self.number = number
        self.owner = owner
        self.drain = drain
        self.drainIdentity = drain.identity
        self.since = position
        self.sinceSeq = here?.seq ?? 0
        if self.start == .current { self.beginning = here }
    }

    // MARK: - Coming to an end

    /// Cancels it, and gives up its place; under no lock.
    ///
    /// No call begins after this returns. What the member holds is released here, or when the
    /// running call ends. `quiet` is called when no call is running either, at once if none is.
    final func end(quiet: @escaping @Sendable () -> Void = {}) {
        self.callGuard.cancel {
            if !self.hasLetGo.exchange(true, ordering: .sequentiallyConsistent) {
                self.letGo()
                self.retained = nil
            }
            quiet()
        }
        self.owner?.remove(self)
    }

    final var isCancelled: Bool { self.callGuard.isCancelled }

    /// Whether this member represents that very object: a dead object's identifier may be reused.
    ///
    /// Never loads another object: the caller holds `object`.
    func represents(_ object: AnyObject) -> Bool {
        self.object == ObjectIdentifier(object) && self.receiver === object
    }

    /// Whether it can never hear anything again, so that it may be removed.
    ///
    /// Asked under no lock: loading a weak reference holds the object for a moment, and that may be
    /// the last hold on it, so that releasing it here runs the object's deinit.
    final var isGone: Bool { self.hasReceiver && self.receiver == nil }

    /// The object to call, or anything if there is none; nil once it is gone.
    final var present: AnyObject? {
        guard self.hasReceiver else { return self }
        return self.receiver
    }

    // MARK: - Being called by the drain

    /// Tells it about a change to a state that it asks for; returns whether it was told.
    final func hear(_ entry: ChangeEntry) -> Bool {
        if self.beginning != nil { self.hearBeginning() }
        return self.callGuard.run { self.receive(entry) }
    }

    /// Whether it asks for states of that name.
    final func wants(_ name: String) -> Bool { self.names?.contains(name) ?? true }

    /// Whether it asks for the state that the change led to.
    final func wants(_ change: Change) -> Bool {
        self.names == nil || self.wants(change.new.name)
    }

    /// Delivers the state that was current at the registration, as a change from that state to
    /// itself.
    private final func hearBeginning() {
        guard let place = self.beginning.take() else { return }
        let change = Change(beginningAt: place)
        if self.wants(change) { _ = self.hear(ChangeEntry(change)) }
    }

    final func hearMissed(_ missed: Missed) {
        self.hearBeginning()
        let first = max(missed.first, self.sinceSeq + 1)
        guard first <= missed.newest.seq else { return }
        self.call { self.receiveMissed(Int(missed.newest.seq - first + 1), newest: missed.newest) }
    }

    final func endBurst() { self.call { self.burstEnded() } }

    /// Asks the member if it is a voter; cancelling one releases it from the ballot.
    final func put(_ question: QuestionEntry) { self.call { self.receive(question) } }

    final func call(_ body: () -> Void) {
        _ = self.callGuard.run {
            body()
            return true
        }
    }

    // MARK: - Asking for a turn

    /// Has ``takeTurn()`` called on its context, soon.
    final func askForTurn() {
        guard
            let (drain, _) = self.owner?.drain(of: self),
            !self.isAsked.exchange(true, ordering: .sequentiallyConsistent)
        else { return }
        drain.post { [weak self] mayCall in
            guard let self else { return }
            self.isAsked.store(false, ordering: .sequentiallyConsistent)
            guard mayCall else { return }
            if self.beginning != nil {
                self.hearBeginning()
                if self.hearsBurstEnds { self.endBurst() }
            }
            self.call { self.takeTurn() }
        }
    }

    /// Delivers what is kept for it once it has been told of all that was committed so far; calls
    /// `given` after that, or when it is cancelled.
    ///
    /// If its owner has gone, all that the context has yet to be told was committed before.
    final func flush(then given: @escaping @Sendable () -> Void) {
        let waiter = Once<Void> { given() }
        guard
            let (drain, newest) = self.owner?.drain(of: self) ?? self.drain.map({ ($0, .max) }),
            self.callGuard.wait(waiter)
        else {
            return given()
        }
        let pass: @Sendable () -> Void = { [weak self] in
            self?.callGuard.forget(waiter)
            waiter.give(())
        }
        drain.post(after: newest) { [weak self] mayCall in
            guard mayCall, let self else { return pass() }
            self.hearBeginning()
            self.call { self.deliverKept(then: pass) }
        }
    }

    // MARK: - What kinds of members do

    /// Whether it is told of changes and of missed ones; a voter is not.
    var hearsChanges: Bool { true }

    /// Whether it counts among those who would hear of a state.
    var isAudience: Bool { true }

    /// Releases what it holds for its calls; called once, when none runs and none will begin, under
    /// no lock.
    func letGo() {}

    /// Returns whether anybody was told.
    ///
    /// It must not keep the entry, which may keep all that follow it.
    func receive(_ entry: ChangeEntry) -> Bool { false }

    /// The drain fell behind its limit and dropped `count` changes, the last of them `newest`.
    func receiveMissed(_ count: Int, newest: Change) {}

    func receive(_ question: QuestionEntry) {}

    /// Called on the context when nothing more is to be told, after something was.
    func burstEnded() {}

    /// Called on the context because it has asked.
    func takeTurn() {}

    /// Called on the context: it has been told of all that came before.
    func reach(_ count: DeliveryCount) {}

    /// Delivers what is kept for it, on its context; then calls `given`.
    func deliverKept(then given: @escaping @Sendable () -> Void) { given() }
}

/// A closure as a member, for as long as it is registered, or as an object lives.
///
/// `@unchecked Sendable`: `held` is released once, when no call runs and none will begin; the rest never changes.
final class CallingMember: Member, @unchecked Sendable {
    /// What is called: an object, so that a call counts one reference, or none.
    final class Calls: Sendable {
        /// Called with the receiver, or with an arbitrary object if there is none; returns whether anybody was told.
        let change: @Sendable (_ receiver: AnyObject, ChangeEntry) -> Bool
        /// Called with how many changes were lost, and where the last of them led; nil: that one is
        /// told like any other.
        let missed: (@Sendable (_ receiver: AnyObject, Int, _ now: Place) -> Void)?
        /// Called when nothing more is in the log.
        let burstEnd: (@Sendable () -> Void)?

        init(
            change: @escaping @Sendable (_ receiver: AnyObject, ChangeEntry) -> Bool,
            missed: (@Sendable (_ receiver: AnyObject, Int, _ now: Place) -> Void)? = nil,
            burstEnd: (@Sendable () -> Void)? = nil
        ) {
            self.change = change
            self.missed = missed
            self.burstEnd = burstEnd
        }
    }

    /// Not counted: counting references for each call would take longer than some delegates do.
    private let calls: Unmanaged<Calls>
    /// Keeps ``calls`` until none of them is called any more.
    private var held: Calls?
    private let listens: Bool

    /// `listens`: whether it counts among those who hear of a state; `calls`: what is called.
    init(for terms: Terms = Terms(), listens: Bool = true, _ calls: Calls) {
        self.held = calls
        self.calls = .passUnretained(calls)
        self.listens = listens
        super.init(terms, hearingBurstEnds: calls.burstEnd != nil)
    }

    override var isAudience: Bool { self.listens }

    override func receive(_ entry: ChangeEntry) -> Bool {
        // Without a receiver no reference is counted.
        guard self.hasReceiver else {
            return self.calls._withUnsafeGuaranteedRef { $0.change($0, entry) }
        }
        // The last reference to the object may go here, on its own context.
        guard let present else { return false }
        return self.calls._withUnsafeGuaranteedRef { $0.change(present, entry) }
    }

    override func receiveMissed(_ count: Int, newest: Change) {
        guard let missed = self.held?.missed else {
            if self.wants(newest) { _ = self.receive(ChangeEntry(newest)) }
            return
        }
        if let present { missed(present, count, newest.place) }
    }

    override func burstEnded() { self.held?.burstEnd?() }

    override func letGo() { self.held = nil }
}

import Synchronization

/// The place of a receptionist's task, or of a delegate that does not get everything: keeps what
/// comes until the delivery says that it is due.
///
/// Guarded state: `coalescer`, `alarm`, `alarmNumber` and the closures belong to whoever has the
/// turn on the context, and are released once, when no call runs and none will begin. `rung`,
/// atomic, is the number of the last alarm that rang.
///
/// `@unchecked Sendable`: turns are handed on by the drain, which orders them.
final class ReceivingMember<Element: Sendable>: Member, @unchecked Sendable {
    typealias Batch = Delivery<Element>.Batch

    /// What is called on the context.
    struct Calls {
        /// What of a change is wanted; nil: nothing.
        let select: @Sendable (Change) -> Element?
        /// Called with how many elements were lost, and where the machine was then; nil: that is
        /// told with the batch alone.
        var missed: (@Sendable (_ receiver: AnyObject, Int, _ now: Place) -> Void)?
        /// Called with a batch; `receiver` gives the object, if there is one and else anything, and nil when no
        /// further call may be made.
        let task: @Sendable (Batch, _ receiver: () -> AnyObject?) -> Void
    }

    private var calls: Calls?
    private var coalescer: Coalescer<Element>?
    private let clock: any Clock<Duration>
    /// Whether it tells only when that is wanted.
    private let waitsToBeAsked: Bool
    private var alarm: Alarm?
    private var alarmNumber: UInt64 = 0
    private let rung = Atomic<UInt64>(0)

    /// With the `clock` that measures intervals; `isWanted` is asked before each delivery, until which
    /// all is kept: nil, it always is.
    init(
        _ delivery: Delivery<Element>,
        by clock: any Clock<Duration>,
        for terms: Terms = Terms(),
        isWanted: (@Sendable () -> Bool)? = nil,
        _ calls: Calls
    ) {
        self.calls = calls
        self.coalescer = Coalescer(delivery, isWanted: isWanted ?? { true })
        self.clock = clock
        self.waitsToBeAsked = isWanted != nil
        super.init(terms, hearingBurstEnds: true)
    }

    // Nothing is kept for a receiver that is gone, and its place is free.
    override func receive(_ entry: ChangeEntry) -> Bool {
        !self.isGone && self.receive(entry.change)
    }

    private func receive(_ change: Change) -> Bool {
        guard let element = self.calls?.select(change) else { return false }
        self.perform(self.coalescer?.received(element, seq: change.seq))
        return true
    }

    // What is kept comes before what the drain has dropped; if it has to stay, that counts with it.
    override func receiveMissed(_ count: Int, newest: Change) {
        guard let missed = self.calls?.missed, !self.waitsToBeAsked else {
            guard self.wants(newest) else { return }
            self.coalescer?.lost(count - 1, from: newest.seq - UInt64(count - 1))
            _ = self.receive(newest)
            return
        }
        self.deliver()
        if !self.isCancelled, let present { missed(present, count, newest.place) }
    }

    /// Takes in what does not come from a log, and what was lost before it; on its context.
    func receive(_ element: Element, seq: UInt64, after losses: Drain.Losses) {
        self.call {
            self.coalescer?.lost(losses.count, from: losses.first)
            self.perform(self.coalescer?.received(element, seq: seq))
        }
    }

    override func burstEnded() { self.perform(self.coalescer?.burstEnded()) }

    /// An alarm rang, or what was due is wanted.
    override func takeTurn() {
        if self.alarm != nil,
            self.rung.load(ordering: .sequentiallyConsistent) == self.alarmNumber
        {
            self.alarm = nil
            self.perform(self.coalescer?.rang())
        }
        self.perform(self.coalescer?.asked())
    }

    override func deliverKept(then given: @escaping @Sendable () -> Void) {
        self.deliver()
        given()
    }

    private func deliver() { self.perform(self.coalescer?.deliver()) }

    override func letGo() {
        self.alarm?.stop()
        self.alarm = nil
        self.coalescer = nil
        self.calls = nil
    }

    private func perform(_ action: Coalescer<Element>.Action?) {
        switch action {
        case .wait, nil: break
        case .deliver(let batch, let interval):
            if let interval { self.ring(after: interval) }
            // A turn may make several calls, and the task may end them.
            if !self.isCancelled {
                self.calls?.task(batch) { self.isCancelled ? nil : self.present }
            }
        case .ring(let duration): self.ring(after: duration)
        }
    }

    private func ring(after duration: Duration) {
        self.alarm?.stop()
        self.alarmNumber += 1
        let number = self.alarmNumber
        self.alarm = Alarm(after: duration, on: self.clock) { [weak self] in
            self?.rung.store(number, ordering: .sequentiallyConsistent)
            self?.askForTurn()
        }
    }
}

extension Delivery<Change> {
    /// The member that is told what this delivers of a machine's changes.
    ///
    /// - Parameters:
    ///   - terms: what it hears, and for whom.
    ///   - clock: what intervals are measured with.
    ///   - isWanted: asked before what was kept is delivered; nil, it always is.
    ///   - missed: told, before the next change, how many were dropped and where the machine was
    ///     then.
    ///   - tell: called with each change, until the member is cancelled, or its object gone; returns
    ///     whether anybody was told.
    /// - Returns: the member, which is registered nowhere yet.
    func member(
        for terms: Member.Terms = .init(),
        by clock: any Clock<Duration>,
        isWanted: (@Sendable () -> Bool)? = nil,
        missed: (@Sendable (_ receiver: AnyObject, Int, _ now: Place) -> Void)?,
        tell: @escaping @Sendable (_ receiver: AnyObject, ChangeEntry) -> Bool
    ) -> Member {
        guard !self.isStraight else {
            return CallingMember(for: terms, .init(change: tell, missed: missed))
        }
        let calls = ReceivingMember<Change>.Calls(
            select: { $0 },
            missed: missed,
            task: { batch, receiver in
                if batch.dropped > 0, let first = batch.values.first, let present = receiver() {
                    missed?(present, batch.dropped, first.placeBefore)
                }
                for change in batch.values {
                    guard let present = receiver() else { return }
                    _ = tell(present, ChangeEntry(change))
                }
            }
        )
        return ReceivingMember(self, by: clock, for: terms, isWanted: isWanted, calls)
    }
}

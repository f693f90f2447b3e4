/// The member of a delegate or closure that does not hear of everything at once.
///
/// `@unchecked Sendable`: its fields never change.
final class DeliveredMember: ReceivingMember<Change>, @unchecked Sendable {
    private let teller: DeliveryTeller
    /// The object whose lifetime bounds the member, and whether there is one.
    private weak let receiver: (any AnyObject & Sendable)?
    private let hasReceiver: Bool
    /// Whether it tells only when that is wanted.
    private let waitsToBeAsked: Bool

    /// - Parameters:
    ///   - delivery: what to deliver, and when.
    ///   - clock: measures intervals.
    ///   - names: the states that it hears of; nil: all.
    ///   - start: what it hears first.
    ///   - receiver: the object whose lifetime bounds it; nil: it lasts until cancelled.
    ///   - object: the delegate that it represents; nil: none.
    ///   - missed: told, before the next change, how many were dropped and where the machine was
    ///     then; nil: the newest of what the lane has dropped is delivered like any other.
    ///   - isWanted: asked before each delivery, until which all is kept; nil: it always is.
    ///   - body: called with each remaining change.
    init(
        _ delivery: Delivery<Change>,
        by clock: any Clock<Duration>,
        of names: Set<String>? = nil,
        starting start: Start,
        for receiver: (any AnyObject & Sendable)? = nil,
        representing object: ObjectIdentifier? = nil,
        missed: (@Sendable (Int, Place) -> Void)? = nil,
        isWanted: (@Sendable () -> Bool)? = nil,
        body: @escaping @Sendable (Change) -> Void
    ) {
        let teller = DeliveryTeller(missed: missed, body: body)
        self.teller = teller
        self.receiver = receiver
        self.hasReceiver = receiver != nil
        self.waitsToBeAsked = isWanted != nil
        super.init(
            DeliveryScheduler(
                delivery,
                clock: clock,
                isWanted: isWanted ?? { true },
                task: { teller.tell($0) }
            ),
            // Other states do not get here.
            select: { $0 },
            of: names,
            starting: start,
            representing: object
        )
        teller.member = self
    }

    override func represents(_ object: AnyObject) -> Bool {
        self.object == ObjectIdentifier(object) && self.receiver === object
    }

    override var isGone: Bool { self.hasReceiver && self.receiver == nil }

    // Nothing is kept for a receiver that is gone, and its place is free.
    override func receive(_ entry: ChangeEntry) -> Bool { !self.isGone && super.receive(entry) }

    // What is kept comes before what the lane has dropped; if it has to stay, that counts with it.
    override func receiveMissed(_ count: Int, newest: Change) {
        guard self.teller.hearsMissed, !self.waitsToBeAsked else {
            if self.wants(newest) { super.receiveMissed(count, newest: newest) }
            return
        }
        self.scheduler.deliver()
        guard !self.isCancelled else { return }
        self.teller.miss(count, now: newest.place)
    }

    override func letGo() {
        super.letGo()
        self.teller.letGo()
    }
}

/// Delivers a batch, one change after the other, and stops if the member is cancelled.
///
/// `@unchecked Sendable`: `member` is set once, before the lane can see the member; `told` is
/// released once, when no call runs and none will begin.
private final class DeliveryTeller: @unchecked Sendable {
    private struct Told {
        let missed: (@Sendable (Int, Place) -> Void)?
        let body: @Sendable (Change) -> Void
    }

    weak var member: Member?
    private var told: Told?

    init(
        missed: (@Sendable (Int, Place) -> Void)?,
        body: @escaping @Sendable (Change) -> Void
    ) {
        self.told = Told(missed: missed, body: body)
    }

    var hearsMissed: Bool { self.told?.missed != nil }

    func miss(_ count: Int, now: Place) { self.told?.missed?(count, now) }

    func tell(_ batch: Delivery<Change>.Batch) {
        guard let told = self.told, let first = batch.values.first else { return }
        if batch.dropped > 0 { told.missed?(batch.dropped, first.origin) }
        for change in batch.values {
            guard let member = self.member, !member.isCancelled else { return }
            told.body(change)
        }
    }

    func letGo() { self.told = nil }
}

/// The member of a delegate or closure that does not hear of everything at once.
///
/// `@unchecked Sendable`: its fields never change.
final class DeliveredMember<State: MachineState>: ReceivingMember<State, Transition<State>>,
    @unchecked Sendable
{
    private let teller: DeliveryTeller<State>
    /// The object whose lifetime bounds the member, and whether there is one.
    private weak let receiver: (any AnyObject & Sendable)?
    private let hasReceiver: Bool

    /// - Parameters:
    ///   - delivery: what to deliver, and when.
    ///   - clock: measures intervals.
    ///   - names: the states that it hears of; nil: all.
    ///   - start: what it hears first.
    ///   - receiver: the object whose lifetime bounds it; nil: it lasts until cancelled.
    ///   - object: the delegate that it represents; nil: none.
    ///   - missed: told, before the next transition, how many were dropped and where the machine
    ///     was then.
    ///   - body: called with each remaining transition.
    init(
        _ delivery: Delivery<Transition<State>>,
        by clock: any Clock<Duration>,
        of names: Set<State.Name>? = nil,
        starting start: StateMachine<State>.Start,
        for receiver: (any AnyObject & Sendable)? = nil,
        representing object: ObjectIdentifier? = nil,
        missed: @escaping @Sendable (Int, Snapshot<State>) -> Void = { _, _ in },
        body: @escaping @Sendable (Transition<State>) -> Void
    ) {
        let teller = DeliveryTeller(missed: missed, body: body)
        self.teller = teller
        self.receiver = receiver
        self.hasReceiver = receiver != nil
        super.init(
            DeliveryScheduler(delivery, clock: clock) { teller.tell($0) },
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
    override func receive(_ transition: Transition<State>) -> Bool {
        !self.isGone && super.receive(transition)
    }

    // What is kept comes before what the lane has dropped.
    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        self.scheduler.deliver()
        self.teller.miss(count, now: newest.snapshot)
    }

    override func letGo() {
        super.letGo()
        self.teller.letGo()
    }
}

/// Delivers a batch, one transition after the other, and stops if the member is cancelled.
///
/// `@unchecked Sendable`: `member` is set once, before the lane can see the member; `told` is
/// released once, when no call runs and none will begin.
private final class DeliveryTeller<State: MachineState>: @unchecked Sendable {
    private struct Told {
        let missed: @Sendable (Int, Snapshot<State>) -> Void
        let body: @Sendable (Transition<State>) -> Void
    }

    weak var member: Member<State>?
    private var told: Told?

    init(
        missed: @escaping @Sendable (Int, Snapshot<State>) -> Void,
        body: @escaping @Sendable (Transition<State>) -> Void
    ) {
        self.told = Told(missed: missed, body: body)
    }

    func miss(_ count: Int, now: Snapshot<State>) { self.told?.missed(count, now) }

    func tell(_ batch: Delivery<Transition<State>>.Batch) {
        guard let told = self.told, let first = batch.values.first else { return }
        if batch.dropped > 0 { told.missed(batch.dropped, first.origin) }
        for transition in batch.values {
            guard let member = self.member, !member.isCancelled else { return }
            told.body(transition)
        }
    }

    func letGo() { self.told = nil }
}

extension Transition {
    /// Where the machine was before it: with this transition's time, and, if this one begins a
    /// stay, the last seq at which the previous stay can have begun.
    fileprivate var origin: Snapshot<State> {
        // A transition from a state to itself is what a machine begins with.
        let seq = self.seq == 0 ? 0 : self.seq - 1
        return Snapshot(seq: seq, state: self.old, at: self.at, stay: min(self.stay, seq))
    }
}

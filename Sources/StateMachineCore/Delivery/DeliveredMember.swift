/// A delegate's or a closure's place where it is not told of everything at once.
///
/// `@unchecked Sendable`: its fields never change.
final class DeliveredMember<State: MachineState>: ReceivingMember<State, Transition<State>>,
    @unchecked Sendable
{
    private let teller: DeliveryTeller<State>
    /// For as long as whose life it is there; whether for anybody's.
    private weak let receiver: (any AnyObject & Sendable)?
    private let hasReceiver: Bool

    /// - Parameters:
    ///   - delivery: what is told, and when.
    ///   - clock: what intervals are measured with.
    ///   - names: the states that it is told of; nil: all.
    ///   - start: what it is told first.
    ///   - receiver: for as long as whose life; nil: until it is cancelled.
    ///   - object: the delegate that this is the place of; nil: none.
    ///   - missed: told before the next transition how many were dropped, and where the machine was then.
    ///   - body: told each transition that is left.
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
            // Other states do not come here.
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

    // Nothing is kept for who is gone, and its place is free.
    override func receive(_ transition: Transition<State>) -> Bool {
        !self.isGone && super.receive(transition)
    }

    // What is kept comes before what the lane has let go of.
    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        self.scheduler.deliver()
        self.teller.miss(count, now: newest.snapshot)
    }

    override func letGo() {
        super.letGo()
        self.teller.letGo()
    }
}

/// Tells of a batch, one transition after the other, and stops where the member is cancelled.
///
/// `@unchecked Sendable`: `member` is set once, before the lane can see the member; `told` is let go of once, when no call
/// runs and none will begin.
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
    /// Where the machine was before it: the time is this one's, and the stay, if this one begins another, the last place
    /// where it can have begun.
    fileprivate var origin: Snapshot<State> {
        // One from a state to itself is what a machine begins with.
        let seq = self.seq == 0 ? 0 : self.seq - 1
        return Snapshot(seq: seq, state: self.old, at: self.at, stay: min(self.stay, seq))
    }
}

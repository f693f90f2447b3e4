/// A closure as a member, for as long as it is registered, or as an object lives.
///
/// `@unchecked Sendable`: `calls` is released once, when no call runs and none will begin; the rest never changes.
final class CallingMember: Member, @unchecked Sendable {
    /// What is called.
    struct Calls {
        /// Called with the object, if there is one and else with anything; returns whether anybody was told.
        let change: @Sendable (_ receiver: AnyObject, ChangeEntry) -> Bool
        /// Called with how many changes were lost, and where the last of them led; nil: that one is
        /// told like any other.
        var missed: (@Sendable (_ receiver: AnyObject, Int, _ now: Place) -> Void)?
        /// Called when nothing more is in the log.
        var burstEnd: (@Sendable () -> Void)?
        /// Keeps the object alive; nil: nothing does.
        var retained: AnyObject?
    }

    private var calls: Calls?
    /// The object whose lifetime bounds the member, and whether there is one.
    private weak let receiver: (any AnyObject & Sendable)?
    private let hasReceiver: Bool
    private let listens: Bool

    /// - Parameters:
    ///   - names: the states that it hears of; nil: all.
    ///   - start: what it hears first.
    ///   - receiver: the object whose lifetime bounds it; nil: it lasts until cancelled.
    ///   - object: the delegate that it represents; nil: none.
    ///   - listens: whether it counts among those who hear of a state.
    ///   - calls: what is called.
    init(
        of names: Set<String>? = nil,
        starting start: Start = .next,
        for receiver: (any AnyObject & Sendable)? = nil,
        representing object: ObjectIdentifier? = nil,
        listens: Bool = true,
        _ calls: Calls
    ) {
        self.calls = calls
        self.receiver = receiver
        self.hasReceiver = receiver != nil
        self.listens = listens
        super.init(
            of: names,
            starting: start,
            representing: object,
            hearingBurstEnds: calls.burstEnd != nil
        )
    }

    // Never loads another object here: the caller holds `object`.
    override func represents(_ object: AnyObject) -> Bool {
        self.object == ObjectIdentifier(object) && self.receiver === object
    }

    override var isGone: Bool { self.hasReceiver && self.receiver == nil }

    override var isAudience: Bool { self.listens }

    override func receive(_ entry: ChangeEntry) -> Bool {
        guard self.hasReceiver else { return self.calls?.change(self, entry) ?? false }
        // The last reference to it may go here, on its own context.
        guard let receiver = self.receiver else { return false }
        return self.calls?.change(receiver, entry) ?? false
    }

    override func receiveMissed(_ count: Int, newest: Change) {
        guard let missed = self.calls?.missed else {
            if self.wants(newest) { _ = self.receive(ChangeEntry(newest)) }
            return
        }
        guard self.hasReceiver else { return missed(self, count, newest.place) }
        if let receiver = self.receiver { missed(receiver, count, newest.place) }
    }

    override func burstEnded() { self.calls?.burstEnd?() }

    override func letGo() { self.calls = nil }
}

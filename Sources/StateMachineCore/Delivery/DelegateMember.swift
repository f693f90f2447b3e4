/// A delegate as a member, held weakly or strongly.
///
/// Generic over the delegate: calling an existential would cost twice as much.
///
/// `@unchecked Sendable`: `strong` is released once, when no call runs and none will begin, and is
/// otherwise never touched.
final class DelegateMember<State: MachineState, Delegate: StateDelegate<State>>: Member<State>,
    @unchecked Sendable
{
    @exclusivity(unchecked) private var strong: Delegate?
    private weak let weak: Delegate?

    init(
        _ delegate: Delegate,
        of names: Set<State.Name>?,
        retaining: Bool,
        starting: StateMachine<State>.Start
    ) {
        self.weak = delegate
        self.strong = retaining ? delegate : nil
        super.init(of: names, starting: starting, representing: ObjectIdentifier(delegate))
    }

    // Never loads another object here: the caller holds `object`.
    override func represents(_ object: AnyObject) -> Bool {
        self.object == ObjectIdentifier(object) && self.weak === object
    }

    override func letGo() { self.strong = nil }

    override var isGone: Bool { self.weak == nil }

    // The strong reference taken here may be the last one; it is dropped on the delegate's context.
    override func receive(_ transition: Transition<State>) -> Bool {
        guard let delegate = self.weak else { return false }
        delegate.stateChanged(transition)
        return true
    }

    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        self.weak?.transitionsMissed(count, now: newest.snapshot)
    }
}

/// A closure as a member.
///
/// `@unchecked Sendable`: `body` is released once, when no call runs and none will begin.
final class ObserverMember<State: MachineState>: Member<State>, @unchecked Sendable {
    @exclusivity(unchecked) private var body: (@Sendable (Transition<State>) -> Void)?

    init(
        of names: Set<State.Name>?,
        starting: StateMachine<State>.Start,
        _ body: @escaping @Sendable (Transition<State>) -> Void
    ) {
        self.body = body
        super.init(of: names, starting: starting)
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.body?(transition)
        return true
    }

    override func letGo() { self.body = nil }
}

/// A delegate as a member, held weakly or strongly.
///
/// Generic over the delegate: calling an existential would cost twice as much.
///
/// `@unchecked Sendable`: `weak` is never reassigned.
final class DelegateMember<State: MachineState, Delegate: StateDelegate<State>>: Member<State>,
    @unchecked Sendable
{
    private let identifier: ObjectIdentifier
    private let strong: Delegate?
    private weak let weak: Delegate?

    init(_ delegate: Delegate, of names: Set<State.Name>?, holding: Holding, starting: Start) {
        self.identifier = ObjectIdentifier(delegate)
        self.weak = delegate
        self.strong =
            switch holding {
            case .weak: nil
            case .strong: delegate
            }
        super.init(of: names, starting: starting)
    }

    override func represents(_ object: AnyObject) -> Bool {
        self.identifier == ObjectIdentifier(object) && self.weak === object
    }

    override var isGone: Bool { self.weak == nil }

    // The strong reference taken here may be the last one; it is dropped on the delegate's context.
    override func receive(_ transition: Transition<State>) -> Bool {
        guard let delegate = self.weak else { return false }
        delegate.stateChanged(transition)
        return true
    }

    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        let now = Snapshot(seq: newest.seq, state: newest.new, at: newest.at)
        self.weak?.transitionsMissed(count, now: now)
    }
}

/// A closure as a member.
final class ObserverMember<State: MachineState>: Member<State>, @unchecked Sendable {
    private let body: @Sendable (Transition<State>) -> Void

    init(
        of names: Set<State.Name>?,
        starting: Start,
        _ body: @escaping @Sendable (Transition<State>) -> Void
    ) {
        self.body = body
        super.init(of: names, starting: starting)
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.body(transition)
        return true
    }
}

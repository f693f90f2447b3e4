/// An object as a member, with the closure to call for it.
///
/// `@unchecked Sendable`: `strong` and `body` are released once, when no call runs and none will
/// begin.
final class ObjectMember<State: MachineState, Object: AnyObject & Sendable>: Member<State>,
    @unchecked Sendable
{
    private weak let subject: Object?
    @exclusivity(unchecked) private var strong: Object?
    @exclusivity(unchecked) private var body: (@Sendable (Object, Transition<State>) -> Void)?

    init(
        _ object: Object,
        of names: Set<State.Name>?,
        retaining: Bool,
        starting: StateMachine<State>.Start,
        body: @escaping @Sendable (Object, Transition<State>) -> Void
    ) {
        self.subject = object
        self.body = body
        self.strong = retaining ? object : nil
        super.init(of: names, starting: starting)
    }

    override var isGone: Bool { self.subject == nil }

    override func receive(_ transition: Transition<State>) -> Bool {
        guard let object = self.subject, let body = self.body else { return false }
        body(object, transition)
        return true
    }

    override func letGo() {
        self.strong = nil
        self.body = nil
    }
}

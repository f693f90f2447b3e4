import Synchronization

/// One registration in a lane: who hears, from which seq on, until cancelled.
///
/// Guarded state: `since` is written once, under the machine's lock, before the lane can see the
/// member; `isCancelled` is atomic.
class Member<State: MachineState>: @unchecked Sendable {
    /// Hears the transitions after this one.
    private(set) var since: UInt64 = 0

    private let isCancelled = Atomic<Bool>(false)

    func begin(after seq: UInt64) { self.since = seq }

    func cancel() { self.isCancelled.store(true, ordering: .sequentiallyConsistent) }

    final func hear(_ transition: Transition<State>) {
        guard !self.isCancelled.load(ordering: .sequentiallyConsistent) else { return }
        self.receive(transition)
    }

    /// Whether this member is that delegate; adding a pair twice must find it.
    func represents(_ object: AnyObject) -> Bool { false }

    func receive(_ transition: Transition<State>) {}

    /// Called on the context when nothing more is in the log, after at least one ``receive(_:)``.
    func burstEnded() {}
}

/// A delegate as a member, held weakly or strongly.
final class DelegateMember<State: MachineState>: Member<State>, @unchecked Sendable {
    private let identifier: ObjectIdentifier
    private let strong: (any StateDelegate<State>)?
    private weak var weak: (any StateDelegate<State>)?

    init(_ delegate: any StateDelegate<State>, holding: Holding) {
        self.identifier = ObjectIdentifier(delegate)
        self.weak = delegate
        self.strong =
            switch holding {
            case .weak: nil
            case .strong: delegate
            }
    }

    override func represents(_ object: AnyObject) -> Bool {
        self.identifier == ObjectIdentifier(object) && self.weak === object
    }

    override func receive(_ transition: Transition<State>) {
        self.weak?.stateChanged(transition)
    }
}

/// Somebody who is told of every transition of a machine, in order, on a context of its own.
public protocol StateDelegate<State>: AnyObject, Sendable {
    /// The state that it listens to.
    associatedtype State: MachineState

    /// Called once for each transition, on the context given at registration, under no lock.
    ///
    /// It may read and set the machine: a transition made here is committed at once, gets a later
    /// seq, and is told after this one.
    func stateChanged(_ transition: Transition<State>)
}

/// How a machine holds a delegate.
public enum Holding: Sendable {
    /// The delegate's life is somebody else's matter; it is skipped once it is gone.
    case weak
    /// The machine keeps the delegate until its registration is cancelled.
    case strong
}

/// A delegate's or receptionist's place with a machine.
///
/// Dropping it changes nothing; ``cancel()`` ends it.
public final class Registration: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    /// Ends it: no call begins after this returns, one may be running. Idempotent.
    public func cancel() { self.end() }
}

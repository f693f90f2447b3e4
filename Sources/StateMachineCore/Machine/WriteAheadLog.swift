/// Where transitions are made durable before they happen.
///
/// A machine with a log does not assign, announce or answer anything that is not committed there.
public protocol WriteAheadLog<State>: AnyObject, Sendable {
    /// The state whose transitions it keeps.
    associatedtype State: MachineState

    /// Whether the calling code runs where the log commits, for example on its queue; false by
    /// default.
    ///
    /// Code that assigns there must not wait for the log:
    /// ``StateMachine/assign(_:ifSeq:reenter:cause:)`` throws, and setting ``StateMachine/state``
    /// is queued. A log that works on a thread or queue of its own and calls others' code there has
    /// to say so, or such code waits for ever.
    var isCurrent: Bool { get }

    /// Commits `group`, all of it or nothing, and then calls `done`, once, from anywhere.
    ///
    /// One group at a time: the next one gathers meanwhile, evaluated against the state as it will
    /// be, and is handed over after `done`. It is called on whatever thread moves the gate on, so
    /// it should hand the work to a queue of its own and return.
    ///
    /// - Parameters:
    ///   - group: the transitions in order, at least one, exactly as they will happen.
    ///   - done: nil if the group is durable; else why not, and then nothing of it happens.
    func commit(
        _ group: [Transition<State>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    )
}

extension WriteAheadLog {
    /// False.
    public var isCurrent: Bool { false }
}

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

/// Where changes are made durable before they happen, as the engine sees it; ``WriteAheadLog`` is its typed face.
package protocol Recording: AnyObject, Sendable {
    /// Whether the calling code runs where the log commits.
    var isCurrent: Bool { get }

    /// Commits `group`, all of it or nothing, and then calls `done`, once, from anywhere; one group at a time.
    func record(_ group: [Change], done: @escaping @Sendable (_ failure: String?) -> Void)
}

/// A log whose work is done by one that the engine calls itself.
package protocol RecordingLog: WriteAheadLog {
    var recording: any Recording { get }
}

/// A program's own log as the engine calls it.
final class ProgramLog: Recording {
    private let isHere: @Sendable () -> Bool
    private let commit: @Sendable ([Change], @escaping @Sendable (String?) -> Void) -> Void

    init<State: MachineState>(_ log: any WriteAheadLog<State>) {
        self.isHere = { log.isCurrent }
        self.commit = { group, done in log.commit(group.map { Transition($0) }, done: done) }
    }

    var isCurrent: Bool { self.isHere() }

    func record(_ group: [Change], done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.commit(group, done)
    }
}

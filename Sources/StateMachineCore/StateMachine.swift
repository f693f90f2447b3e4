/// The one holder of a state, and the one place from which its changes go out.
///
/// Setting the state numbers the change, appends it to a log under one lock, and wakes the execution
/// contexts that listen; each of them reads the log for itself. No client's code runs under the lock.
///
/// Guarded state: all of it is in `Holder`, behind `holder`.
public final class StateMachine<State: MachineState>: Sendable {
    /// What the lock guards.
    struct Holder: Sendable {
        var seq: UInt64
        var since: WallTime
        var lanes: [Lane<State>] = []
        var tail = TransitionLogEntry<State>(nil)
        /// Why and by whom, of the assignment that is about to be made.
        var cause: String?
        var by: Peer?

        var state: State {
            didSet {
                self.seq += 1
                self.since = .now
                let transition = Transition(
                    seq: self.seq,
                    old: oldValue,
                    new: self.state,
                    at: self.since,
                    cause: self.cause,
                    by: self.by
                )
                let entry = TransitionLogEntry(transition)
                self.tail.append(entry)
                self.tail = entry
            }
        }

        var snapshot: Snapshot<State> {
            Snapshot(seq: self.seq, state: self.state, at: self.since)
        }
    }

    let holder: Lock<Holder>

    /// A machine in that state, with nobody told.
    public init(_ initial: State = .initial) {
        self.holder = Lock(Holder(seq: 0, since: .now, state: initial))
    }

    /// The state.
    ///
    /// Setting it commits before it returns; a state equal to the current one changes nothing. It is
    /// never refused, so an illegal successor is a programming error and ends the process. What may
    /// be refused goes through ``propose(_:expecting:reenter:cause:by:)``.
    public var state: State {
        get { self.snapshot.state }
        set {
            do {
                try self.propose(newValue)
            } catch {
                preconditionFailure("\(newValue) was assigned to a machine that refuses it: \(error)")
            }
        }
    }

    /// The state and its seq, read together.
    public var snapshot: Snapshot<State> {
        self.holder.withLock { $0.snapshot }
    }
}

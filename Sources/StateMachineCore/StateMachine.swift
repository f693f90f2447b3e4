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
        var tail = TransitionLogEntry<State>(.beginning, position: 0)
        var gate = Gate<State>()
        /// Who wants to hear of transitions that nobody heard.
        let unheard: (@Sendable (Transition<State>) -> Void)?
        /// Whether what is judged has to be committed elsewhere before it is assigned.
        let hasLog: Bool
        /// Of the assignment that is about to be made: why, by whom, and when if that is decided.
        var cause: String?
        var by: Peer?
        var stamp: WallTime?

        var state: State {
            didSet {
                self.seq += 1
                self.since = self.stamp ?? .now
                let transition = Transition(
                    seq: self.seq,
                    old: oldValue,
                    new: self.state,
                    at: self.since,
                    cause: self.cause,
                    by: self.by
                )
                self.append(
                    .transition(transition),
                    passage: self.unheard.map { unheard in
                        Passage(lanes: self.lanes.count) { wasHeard in
                            if !wasHeard { unheard(transition) }
                        }
                    }
                )
            }
        }

        mutating func append(
            _ content: TransitionLogEntry<State>.Content,
            passage: Passage? = nil
        ) {
            let entry = TransitionLogEntry(
                content,
                position: self.tail.position + 1,
                passage: passage
            )
            self.tail.append(entry)
            self.tail = entry
        }

        var snapshot: Snapshot<State> {
            Snapshot(seq: self.seq, state: self.state, at: self.since)
        }
    }

    /// What may be chosen when a machine is made.
    public struct Options: Sendable {
        /// Whether a state equal to the current one makes a transition when it is assigned.
        public enum Equal: Sendable {
            /// Nothing happens.
            case ignored
            /// It is a transition like any other.
            case announced
        }

        /// What becomes of an equal assignment.
        public var assigningEqual = Equal.ignored

        /// Entries of the log that a context may be late before what it has not heard is let go.
        ///
        /// 65,536: eleven minutes at a hundred transitions a second, and some ten megabytes. Not
        /// tuned.
        public var laneLimit = 65_536

        /// Proposals that may wait their turn before the next one is refused.
        ///
        /// 4096: more than a daemon's connections have in flight together. Not tuned.
        public var proposalLimit = 4096

        /// What voters' deadlines are measured with.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Called once for each transition that nobody heard, after every context has passed it, on
        /// the context that passed it last; on the setting thread if there is none at all.
        public var unheard: (@Sendable (Transition<State>) -> Void)?

        /// Where transitions are made durable before they happen; nil: nowhere.
        public var log: (any WriteAheadLog<State>)?

        /// The defaults.
        public init() {}
    }

    let holder: Lock<Holder>
    let options: Options

    /// A machine in that state, with nobody told.
    public convenience init(_ initial: State = .initial, options: Options = Options()) {
        self.init(resuming: Snapshot(seq: 0, state: initial, at: .now), options: options)
    }

    /// A machine that goes on where another one stopped; nobody is told.
    public init(resuming snapshot: Snapshot<State>, options: Options = Options()) {
        self.options = options
        self.holder = Lock(
            Holder(
                seq: snapshot.seq,
                since: snapshot.at,
                unheard: options.unheard,
                hasLog: options.log != nil,
                state: snapshot.state
            )
        )
    }

    /// The state.
    ///
    /// Setting it commits before it returns; a state equal to the current one changes nothing. It
    /// asks no voter, so an illegal successor is a programming error and ends the process. What may
    /// be refused goes through ``assign(_:ifSeq:reenter:cause:by:)`` or the gate.
    ///
    /// On a machine with a write-ahead log setting waits for the log. Set by what the gate itself
    /// calls, by an `.immediate` delegate of such a machine for one, it is queued and happens later.
    public var state: State {
        get { self.snapshot.state }
        set { self.assignOrTrap(newValue) }
    }

    /// The state and its seq, read together.
    public var snapshot: Snapshot<State> {
        self.holder.withLock { $0.snapshot }
    }
}

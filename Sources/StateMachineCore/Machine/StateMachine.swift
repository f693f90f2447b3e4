internal import Observation

/// Holds a state, and is the only source of its changes.
///
/// Setting the state numbers the change, appends it to a log under one lock, and wakes the execution
/// contexts that listen; each of them reads the log for itself. No client's code runs under the lock.
///
/// It is the typed face of its ``machine``, which does all of this for states of any type.
public final class StateMachine<State: MachineState>: Sendable {
    /// What may be chosen when a machine is made.
    public struct Options: Sendable {
        /// Whether assigning a state equal to the current one makes a transition; if not, nothing happens.
        public var announcesEqual = false

        /// Log entries that a context may fall behind before the machine drops what it has not
        /// heard, and tells its delegates how many that were; nil: any number.
        ///
        /// Nil by default: every delegate hears every transition. That costs memory, some 200 bytes
        /// plus the state's own for each transition that a stuck context has not heard; a machine
        /// whose delegates may block for hours should have a limit. It also holds while a delegate
        /// is being called.
        public var laneLimit: Int?

        /// Proposals that may wait their turn before the next one is refused.
        ///
        /// 4096: more than a daemon's connections have in flight together. Not tuned.
        public var proposalLimit = 4096

        /// The clock that voters' deadlines are measured with.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Called once for each transition that nobody heard, after every context has passed it, on
        /// the context that passed it last; on the setting thread if there is no context.
        public var unheard: (@Sendable (Transition<State>) -> Void)?

        /// Called with each state whose assignment to ``StateMachine/state`` failed though it was
        /// legal, and why: the log could not commit it, or more proposals wait than the machine
        /// takes.
        ///
        /// The state is unchanged. It is called before the assignment returns; if the assignment
        /// was queued, by the thread that brings the answer. It must not block.
        public var unassigned: (@Sendable (State, TransitionError<State>) -> Void)?

        /// Where transitions are made durable before they happen; nil: nowhere.
        public var log: (any WriteAheadLog<State>)?

        /// The defaults.
        public init() {}
    }

    /// What holds the state.
    @usableFromInline package let machine: Machine
    /// Tells those who track ``observed``; nil until somebody does.
    let observation = Lock<ObservationRegistrar?>(nil)

    /// A machine in that state, without delegates.
    public convenience init(_ initial: State, options: Options = Options()) {
        self.init(resuming: Snapshot(seq: 0, state: initial, at: .now), options: options)
    }

    /// A machine that goes on where another one stopped; nobody is told about it.
    public init(resuming snapshot: Snapshot<State>, options: Options = Options()) {
        self.machine = Machine(resuming: snapshot.place, options: options.untyped)
    }

    /// A machine that continues at a place, and keeps its changes there; the face of one that is served.
    package init(resuming place: Place, recording log: (any Recording)?) {
        var options = Options().untyped
        options.log = log
        self.machine = Machine(resuming: place, options: options)
    }

    /// The state.
    ///
    /// Setting it commits before it returns; a state equal to the current one changes nothing. It
    /// asks no voter, so an illegal successor is a programming error and ends the process. What may
    /// be refused goes through ``assign(_:ifSeq:reenter:cause:)`` or the gate. With `.immediate`
    /// delegates it delivers to them before it returns and, where several threads set, also
    /// delivers its share of what the others have set; while too much is undelivered it waits its
    /// turn. In such a delegate's callback it does neither.
    ///
    /// On a machine with a write-ahead log setting blocks the calling thread until the log has
    /// committed, but waits for no voter; a task uses the ``assign(_:ifSeq:reenter:cause:)`` that
    /// suspends. If the log cannot commit it, or the machine is overloaded, the state stays as it
    /// was, and ``Options/unassigned`` is called; to get the error instead, use
    /// ``assign(_:ifSeq:reenter:cause:)``. Where setting would wait for itself it is queued and
    /// happens later: in code that the gate calls, such as an `.immediate` delegate of such a
    /// machine, and where the log itself works (``WriteAheadLog/isCurrent``).
    @inlinable public var state: State {
        get { TypedValue<State>.state(of: self.machine.value) }
        set { self.machine.assignOrTrap(TypedValue(newValue)) }
    }

    /// The state and its seq, read together.
    public var snapshot: Snapshot<State> { Snapshot(self.machine.place) }

    /// Whether the state may be entered from the present one, which is no promise: the machine may have gone on, and
    /// voters and the log may refuse it.
    public func can(_ new: State) -> Bool {
        let state = self.state
        return state == new || state.mayBecome(new)
    }
}

extension StateMachine.Options {
    /// The same, as the engine has them.
    fileprivate var untyped: Machine.Options {
        // Only the names of an `EnumState` are guaranteed to be one for each case.
        let haveCases = State.self is any EnumState.Type
        var options = Machine.Options(proposalLimit: self.proposalLimit, haveCases: haveCases)
        options.announcesEqual = self.announcesEqual
        options.laneLimit = self.laneLimit
        options.clock = self.clock
        if let unheard { options.unheard = { unheard(Transition($0)) } }
        if let unassigned {
            options.unassigned = { unassigned(TypedValue.state(of: $0), TransitionError($1)) }
        }
        if let log {
            let own = (log as? any RecordingLog)?.recording
            options.log = own ?? TypedRecording<State>(log)
        }
        return options
    }
}

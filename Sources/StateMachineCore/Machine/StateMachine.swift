/// Holds a state, and is the only source of its changes.
///
/// Setting the state numbers the change, appends it to a log under one lock, and wakes the execution
/// contexts that listen; each of them reads the log for itself. No client's code runs under the lock.
///
/// Guarded state: all of it is in `Holder`, behind `holder`.
public final class StateMachine<State: MachineState>: Sendable {
    /// What the lock guards.
    @usableFromInline
    struct Holder: Sendable {
        @usableFromInline var seq: UInt64
        @usableFromInline var since: WallTime
        @usableFromInline var stay: UInt64
        @usableFromInline var lanes: [Lane<State>] = []
        /// The same by the identity of their contexts.
        var places: [ObjectIdentifier: Lane<State>] = [:]
        @usableFromInline var tail: LogEntry
        /// The entry of the assignment that is about to be made, its time and its stay.
        @usableFromInline var prepared: LogEntry?
        @usableFromInline var preparedAt: WallTime
        @usableFromInline var preparedStay: UInt64
        @usableFromInline var gate: Gate<State>
        /// Whether the state is being replaced by one that looks the same.
        @usableFromInline var isReplacing = false

        @usableFromInline var state: State {
            // The only way out: an assignment without an entry does not happen. It only links,
            // since whatever is built from a state is built before the lock.
            didSet {
                guard let entry = self.prepared.take() else {
                    precondition(self.isReplacing, "a state was assigned without a transition")
                    return
                }
                self.seq += 1
                self.since = self.preparedAt
                self.stay = self.preparedStay
                self.append(entry)
            }
        }

        @inlinable
        mutating func append(_ entry: LogEntry) {
            entry.deliveryCount?.expect(lanes: self.lanes.count)
            exchange(&self.tail, with: entry).append(entry)
        }

        /// Enters a state, under the lock; `entry` is its transition from the present state.
        ///
        /// - Returns: the former tail. The caller keeps it, and the former state, until the lock is
        ///   released: states may go with them, and that may run a client's code.
        @inlinable
        mutating func enter(
            _ new: State,
            as entry: LogEntry,
            at time: WallTime,
            stay: UInt64
        ) -> LogEntry {
            let before = self.tail
            self.prepared = entry
            self.preparedAt = time
            self.preparedStay = stay
            self.state = new
            return before
        }

        /// Replaces the state by one that looks the same, without a transition.
        ///
        /// The caller keeps the former state until the lock is released.
        @usableFromInline
        mutating func replace(with state: State) {
            self.isReplacing = true
            self.state = state
            self.isReplacing = false
        }

        @inlinable
        func appended(since before: LogEntry) -> Appended {
            Appended(before: before, tail: self.tail, lanes: self.lanes)
        }

        @inlinable var snapshot: Snapshot<State> {
            Snapshot(seq: self.seq, state: self.state, at: self.since, stay: self.stay)
        }
    }

    /// What may be chosen when a machine is made.
    public struct Options: Sendable {
        /// Whether assigning a state equal to the current one makes a transition; if not, nothing happens.
        public var announcesEqual = false

        /// Log entries that a context may fall behind before the machine drops what it has not
        /// heard, and tells its delegates how many that were; nil: any number.
        ///
        /// Nil by default: every delegate hears every transition. That costs memory, some 150 bytes
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

    @usableFromInline let holder: Lock<Holder>
    @usableFromInline let options: Options
    @usableFromInline let code: MachineCode<State>
    @usableFromInline let sleepers = LaneSleepers()
    /// The member that tells those who track ``observed``; nil until somebody does.
    let observation = Lock<ObservationMember<State>?>(nil)

    /// A machine in that state, without delegates.
    @inlinable
    public convenience init(_ initial: State, options: Options = Options()) {
        self.init(resuming: Snapshot(seq: 0, state: initial, at: .now), options: options)
    }

    /// A machine that goes on where another one stopped; nobody is told about it.
    @inlinable
    public convenience init(resuming snapshot: Snapshot<State>, options: Options = Options()) {
        self.init(resuming: snapshot, options: options, code: MachineCode())
    }

    /// The same for callers that do not know the type; `code` is made where it is known.
    @usableFromInline
    package init(
        resuming snapshot: Snapshot<State>,
        options: Options = Options(),
        code: MachineCode<State>
    ) {
        self.options = options
        self.code = code
        self.holder = Lock(
            Holder(
                seq: snapshot.seq,
                since: snapshot.at,
                stay: snapshot.stay,
                tail: LogEntry(.beginning),
                preparedAt: snapshot.at,
                preparedStay: snapshot.stay,
                gate: Gate(hasLog: options.log != nil, limit: options.proposalLimit),
                state: snapshot.state
            )
        )
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
        get { self.holder.withLock { $0.state } }
        set { self.assignOrTrap(newValue) }
    }

    /// The state and its seq, read together.
    @inlinable public var snapshot: Snapshot<State> {
        self.holder.withLock { $0.snapshot }
    }

    /// Whether the state may be entered from the present one, which is no promise: the machine may have gone on, and
    /// voters and the log may refuse it.
    public func can(_ new: State) -> Bool {
        let state = self.state
        return state == new || state.mayBecome(new)
    }
}

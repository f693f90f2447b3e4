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
        /// Closures and actors hear the newest of what was dropped.
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
    ///
    /// `isPlaced`: whether it is known where the machine is; if not, its log has it adopt that before anything is decided.
    package init(resuming place: Place, recording log: (any Recording)?, isPlaced: Bool = true) {
        var options = Options().untyped
        options.log = log
        options.isPlaced = isPlaced
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
    /// happens later: in code that the gate calls, in an `.immediate` callback, whichever thread makes
    /// it, and where the log itself works (``WriteAheadLog/isCurrent``).
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
        var options = Machine.Options(proposalLimit: self.proposalLimit)
        options.announcesEqual = self.announcesEqual
        options.laneLimit = self.laneLimit
        options.clock = self.clock
        if let unheard { options.unheard = { unheard(Transition($0)) } }
        if let unassigned {
            options.unassigned = { unassigned(TypedValue.state(of: $0), TransitionError($1)) }
        }
        if let log {
            let own = (log as? any RecordingLog)?.recording
            options.log = own ?? ProgramLog(log)
        }
        return options
    }
}

/// Past the voters.
extension StateMachine {
    /// Sets the state without asking a voter, unless that is illegal from here or the machine has
    /// moved on.
    ///
    /// It commits before it returns. On a machine with a write-ahead log it blocks the calling
    /// thread until the log has committed, but waits for no voter: it goes past proposals that wait
    /// for one, and makes an open question stale. So on such a machine it is for threads and queues
    /// that may block; code that may suspend has its own overload, which `await` picks. Where it
    /// would wait for itself, in code that the gate calls or where the log works
    /// (``WriteAheadLog/isCurrent``), it throws ``Refusal/wouldWait``.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - seq: if given, the seq that the machine has to be at.
    ///   - reenter: makes a transition even to a state equal to the current one.
    ///   - cause: why, carried by the transition.
    /// - Returns: the transition, or where the machine already was.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func assign(
        _ new: State,
        ifSeq seq: UInt64? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) throws(TransitionError<State>) -> Acceptance {
        let move = Move(to: TypedValue(new), if: .init(seq: seq), reenter: reenter, cause: cause)
        return try Acceptance(self.machine.assign(move))
    }
}

extension StateMachine {
    /// Waits, without a thread, until every context has passed what was committed before the call.
    ///
    /// By then registrations have been told of it, and of what they begin with, receptionists at the
    /// source included; what a delivery keeps for an interval is kept.
    ///
    /// It waits as long as the slowest context takes; without a limit, for ever for a context that
    /// never runs its jobs: a stuck queue, or an adopted thread that nobody drains. One that has
    /// ended is not waited for. It also ends when the task is cancelled, whichever contexts have
    /// passed by then.
    ///
    /// - Parameter limit: how long at most, measured by the machine's clock; nil: without a limit.
    /// - Returns: whether every context has passed.
    @discardableResult
    public func flush(within limit: Duration? = nil) async -> Bool {
        await Once.answer(orIfCancelled: false) { hasPassed in
            let alarm = limit.map {
                Alarm(after: $0, on: self.machine.options.clock) { hasPassed.give(false) }
            }
            self.machine.mark { hasPassed.give(true) }
            return alarm
        }
    }
}

extension Machine {
    /// Calls `passed`, once, when every context has passed what has been committed so far.
    fileprivate func mark(_ passed: @escaping @Sendable () -> Void) {
        let news = self.holder.withLock { $0.news }
        let count = DeliveryCount(drains: news.drains.count) { _ in passed() }
        for drain in news.drains { drain.post(count, after: news.position) }
        if news.drains.isEmpty { count.completeUnheard() }
    }
}

// The entry points for code that may suspend: `await` picks them, and no thread waits.
extension StateMachine {
    /// Proposes a state and waits, without a thread, for what becomes of it.
    ///
    /// Proposals are decided one at a time, in order of arrival, each against the state as it is at
    /// its turn: is it as expected, is it legal, do the voters agree, is it durable. An error means
    /// that nothing has changed.
    ///
    /// Cancelling the task withdraws the proposal: before its turn, while voters are asked about it, and
    /// while it gathers behind what the write-ahead log has, it ends with ``Refusal/withdrawn``, and
    /// those behind it move up. Once it is with the log itself it is too late for that: then it ends
    /// with what becomes of it, so that an error always means that nothing has changed.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - question: how voters are asked.
    ///   - isExpected: pure, and may be called again; nil: always.
    ///   - reenter: makes a transition even to a state equal to the current one.
    ///   - cause: why, carried by the transition.
    /// - Returns: the transition, or where the machine already was.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func propose(
        _ new: State,
        asking question: Question = Question(),
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) async throws(TransitionError<State>) -> Acceptance {
        let move = Self.move(to: new, expecting: isExpected, reenter: reenter, cause: cause)
        return try await self.outcome(of: move, asking: question)
    }

    /// Sends an event: what follows is made of the state as it is at the event's turn.
    ///
    /// It is a proposal like any other, and the transition's cause is the event's name.
    ///
    /// ```swift
    /// try await machine.send("coin inserted") { state in
    ///     if case .waiting(let coins) = state { .waiting(coins: coins + 1) } else { nil }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - event: its name.
    ///   - question: how voters are asked.
    ///   - next: pure, and may be called again; the next state, nil where the event means nothing.
    /// - Returns: the transition, or where the machine was if nothing follows.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func send(
        _ event: String,
        asking question: Question = Question(),
        becoming next: @escaping @Sendable (State) -> State?
    ) async throws(TransitionError<State>) -> Acceptance {
        let made = Move.Target.made { (place) throws(Refused) in
            guard let new = next(TypedValue<State>.state(of: place.value)) else {
                return .nothing(.unhandled)
            }
            return .enter(try place.following(TypedValue(new)))
        }
        let move = Move(to: made, cause: event)
        return try await self.outcome(of: move, asking: question)
    }

    /// Sets the state without asking a voter, unless that is illegal from here or the machine has
    /// moved on; suspends where it has to wait for a write-ahead log.
    ///
    /// As the overload that blocks, but never throws ``Refusal/wouldWait``.
    /// Cancelling the task withdraws it like a proposal.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - seq: if given, the seq that the machine has to be at.
    ///   - reenter: makes a transition even to a state equal to the current one.
    ///   - cause: why, carried by the transition.
    /// - Returns: the transition, or where the machine already was.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func assign(
        _ new: State,
        ifSeq seq: UInt64? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) async throws(TransitionError<State>) -> Acceptance {
        let move = Move(to: TypedValue(new), if: .init(seq: seq), reenter: reenter, cause: cause)
        return try await self.outcome(of: move, asking: nil)
    }

    /// Waits for what becomes of a proposal; with no question it goes past the voters.
    private func outcome(
        of move: Move,
        asking question: Question?
    ) async throws(TransitionError<State>) -> Acceptance {
        guard question == nil || !Answering.isAwaited(by: self.machine) else {
            throw TransitionError(.wouldWait, current: self.snapshot)
        }
        guard !Task.isCancelled else { throw TransitionError(.withdrawn, current: self.snapshot) }
        let answer = await Withdrawal.awaited { continuation, withdrawal in
            let pending = self.machine.begin(move, asking: question) {
                continuation.resume(returning: $0)
            }
            guard let pending else { return }
            withdrawal.has { self.machine.withdraw(pending) }
        }
        return try Acceptance(answer)
    }
}

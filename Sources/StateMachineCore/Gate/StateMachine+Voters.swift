/// Asks voters before the state changes.
///
/// They are asked about every change that is proposed and that their `before` accepts, at the same time, each on
/// its own context, when they have heard of all that led to the current state. One that comes while a question is open
/// has its say before that change is made, within what is left of the question's time. A voter may read and propose, but not
/// wait for its proposal before it has voted; if it sets the state past the gate, what it votes on is stale.
extension StateMachine {
    /// Asks before the state changes; the answer is known at once.
    ///
    /// - Parameters:
    ///   - label: the voter's name when it says no.
    ///   - context: where it is asked.
    ///   - limit: how long to wait for it; nil: as long as the question says.
    ///   - silence: what no answer in that time counts as; nil: consent if the limit is the voter's
    ///     own, and else what the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - vote: returns its vote; it must not block.
    /// - Returns: its registration; once that is cancelled, an open question no longer waits for
    ///   the voter.
    @discardableResult
    public func addVoter(
        label: String,
        on context: any ExecutionContext,
        within limit: Duration? = nil,
        whenSilent silence: Vote? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        _ vote: @escaping @Sendable (Proposal<State>) -> Vote
    ) -> Registration {
        self.addVoter(
            label: label,
            on: context,
            within: limit,
            whenSilent: silence,
            before: isAsked
        ) { proposal, reply in
            reply(vote(proposal))
        }
    }

    /// Asks before the state changes; the answer may come later, and from anywhere.
    ///
    /// - Parameters:
    ///   - label: the voter's name when it says no.
    ///   - context: where it is asked.
    ///   - limit: how long to wait for it; nil: as long as the question says.
    ///   - silence: what no answer in that time counts as; nil: consent if the limit is the voter's
    ///     own, and else what the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - body: called with each question, once, and a closure that answers it; it must not block.
    ///     The first answer counts, and a question released without one abstains. If an answer
    ///     decides the question, the state has been assigned when the closure returns, unless a log
    ///     commits it first.
    /// - Returns: its registration; once that is cancelled, an open question no longer waits for
    ///   the voter.
    @discardableResult
    public func addVoter(
        label: String,
        on context: any ExecutionContext,
        within limit: Duration? = nil,
        whenSilent silence: Vote? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        _ body:
            @escaping @Sendable (Proposal<State>, _ reply: @escaping @Sendable (Vote) -> Void) ->
            Void
    ) -> Registration {
        self.machine.addVoter(
            Machine.Voter(label: label, within: limit, whenSilent: silence),
            on: context,
            before: { isAsked(Proposal($0)) },
            { ask in body(Proposal(ask.motion)) { ask.vote($0) } }
        )
    }

    /// Asks an async function before the state changes; each question is a task of its own.
    ///
    /// A question may be decided without the answer, by another voter's no or because time is up:
    /// the function then still runs to its end, but its vote does not count. What its task, a child
    /// task of it, or a `Task` that it starts proposes to the same machine while the question waits
    /// for it would wait for itself: that throws ``Refusal/wouldWait``. A detached task is not
    /// recognized: whoever awaits its proposal is silent until time is up.
    ///
    /// - Parameters:
    ///   - label: the voter's name when it says no.
    ///   - limit: how long to wait for it; nil: as long as the question says.
    ///   - silence: what no answer in that time counts as; nil: consent if the limit is the voter's
    ///     own, and else what the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - vote: returns its vote.
    /// - Returns: its registration; once that is cancelled, an open question no longer waits for
    ///   the voter. Its ``Registration/cancelAndWait()`` also waits for the function's end, unless
    ///   the function itself calls it.
    @discardableResult
    public func addVoter(
        label: String,
        within limit: Duration? = nil,
        whenSilent silence: Vote? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        asking vote: @escaping @Sendable (Proposal<State>) async -> Vote
    ) -> Registration {
        let machine = ObjectIdentifier(self.machine)
        let answers = Answers()
        return self.machine.addVoter(
            Machine.Voter(label: label, within: limit, whenSilent: silence),
            on: self.machine.readers,
            before: { isAsked(Proposal($0)) },
            stopping: { answers.end(then: $0) },
            { ask in
                guard answers.begin() else { return }
                // Not kept: it ends with the question's answer.
                Task {
                    let question = Answering(machine: machine, ask: ask, answers: answers)
                    let vote = await Answering.$current.withValue(question) {
                        await vote(Proposal(ask.motion))
                    }
                    ask.vote(vote)
                    answers.ended()
                }
            }
        )
    }
}

/// The tasks in which one voter answers.
///
/// Guarded state: all of it, behind `guarded`.
private final class Answers: Sendable {
    private struct Guarded {
        var running = 0
        var isOver = false
        /// Who waits until none runs.
        var waiters: [@Sendable () -> Void] = []
    }

    private let guarded = Lock(Guarded())

    /// Whether one more may run.
    func begin() -> Bool {
        self.guarded.withLock { guarded in
            guard !guarded.isOver else { return false }
            guarded.running += 1
            return true
        }
    }

    func ended() {
        let waiters = self.guarded.withLock { guarded in
            guarded.running -= 1
            return guarded.running == 0 ? exchange(&guarded.waiters, with: []) : []
        }
        for waiter in waiters { waiter() }
    }

    /// Begins no more; `ended` is called when none runs, or at once if one of them asks.
    func end(then ended: @escaping @Sendable () -> Void) {
        let isQuiet = self.guarded.withLock { guarded in
            guarded.isOver = true
            guard guarded.running > 0, Answering.current?.answers !== self else { return true }
            guarded.waiters.append(ended)
            return false
        }
        if isQuiet { ended() }
    }
}

/// What a task is answering.
struct Answering: Sendable {
    @TaskLocal static var current: Answering?

    /// The identity of the machine that asks.
    fileprivate let machine: ObjectIdentifier
    fileprivate let ask: Ask
    /// The voter's that is asked.
    fileprivate let answers: Answers

    /// Whether the machine waits for the task that asks this.
    static func isAwaited(by machine: Machine) -> Bool {
        guard let current = self.current, current.machine == ObjectIdentifier(machine) else {
            return false
        }
        return current.ask.isAwaited
    }
}

extension Machine.Voter {
    fileprivate init(label: String, within limit: Duration?, whenSilent silence: Vote?) {
        self.init(
            label: label,
            deadline: limit.map { VoteDeadline(limit: $0, whenSilent: silence ?? .yes) },
            whenSilent: silence
        )
    }
}

/// What may happen next, as put to voters.
public struct Proposal<State: MachineState>: Equatable, Sendable {
    /// The same, as the engine has it.
    package let motion: Motion

    package init(_ motion: Motion) { self.motion = motion }

    /// Where the machine is; the voter has heard of all that led there.
    public var current: Snapshot<State> { Snapshot(self.motion.current) }
    /// The state that would be entered.
    public var proposed: State { TypedValue<State>.state(of: self.motion.proposed) }
    /// Why, in the words of whoever proposed it.
    public var cause: String? { self.motion.cause }
    /// Who proposed it from outside the process; nil for the process itself.
    public var by: Peer? { self.motion.by }
}

extension Proposal: Hashable where State: Hashable {
    /// Hashes what makes two of them equal.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.current)
        hasher.combine(self.proposed)
        hasher.combine(self.cause)
        hasher.combine(self.by)
    }
}

extension StateMachine {
    /// What became of a proposal that was not refused.
    public enum Acceptance: Equatable, Sendable {
        /// The state was assigned.
        case committed(Transition<State>)
        /// The machine was in that state already; nothing happened.
        case unchanged(Snapshot<State>)
    }

    /// Sets the state at once, unless that is illegal from here or the machine is not as expected.
    ///
    /// It commits before it returns. Proposals from several threads are evaluated one after the
    /// other, each against the state as it is at its turn. It throws
    /// ``Refusal/wouldWait`` if it cannot decide without waiting: if a voter has
    /// to be asked, if the machine has a write-ahead log, or if earlier proposals wait their turn.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - isExpected: pure, and may be called again if another thread was faster; the proposal
    ///     goes on only if it holds for the state that it replaces. Nil: always.
    ///   - reenter: makes a transition even to a state equal to the current one.
    ///   - cause: why, carried by the transition.
    /// - Returns: the transition, or where the machine already was.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func proposeAtOnce(
        _ new: State,
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) throws(TransitionError<State>) -> Acceptance {
        let move = Self.move(to: new, expecting: isExpected, reenter: reenter, cause: cause)
        let answer = self.machine.enterAtOnce(move, asking: Question())
        guard let answer else { throw TransitionError(.wouldWait, current: self.snapshot) }
        return try Acceptance(answer)
    }

    static func move(
        to new: State,
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)?,
        reenter: Bool,
        cause: String?
    ) -> Move {
        Move(
            to: TypedValue(new),
            if: isExpected.map { isExpected in .holds { isExpected(Snapshot($0)) } } ?? .none,
            reenter: reenter,
            cause: cause
        )
    }
}

extension StateMachine.Acceptance {
    /// What the engine has answered.
    ///
    /// - Throws: why it has refused.
    init(_ answer: Move.Answer) throws(TransitionError<State>) {
        switch answer {
        case .success(.committed(let change)): self = .committed(Transition(change))
        case .success(.unchanged(let place, _)): self = .unchanged(Snapshot(place))
        case .failure(let refused): throw TransitionError(refused)
        }
    }
}

extension Machine {
    /// Decides at once if that is possible, and else in turn; with no question past the voters.
    ///
    /// - Returns: the proposal, if it has to wait its turn.
    @discardableResult
    func begin(
        _ move: Move,
        asking question: Question?,
        completion: @escaping @Sendable (Move.Answer) -> Void
    ) -> Proposal? {
        if let answer = self.enterAtOnce(move, asking: question) {
            completion(answer)
            return nil
        }
        return self.propose(move, asking: question, completion: completion)
    }
}

import NIOCore
import StateMachineCore
import StateMachineProtocol

/// A machine of states of one type, served: all that the server does with the type itself.
///
/// `@unchecked Sendable`: its variables are touched on `loop` only.
final class TypedMachine<State: MachineState & Hashable>: ServedMachine, @unchecked Sendable {
    let machine: StateMachine<State>
    private let loop: any EventLoop
    /// What is decided at its turn, and who is asked about it.
    let proposals: Proposals<State>
    /// How states are shown.
    ///
    /// Each is shown, and goes on, as what declares it says: so that this holds on any thread, whatever is in
    /// force.
    let coding: StateCoding<State>
    /// How states are asked for and described: what is in force now.
    private(set) var current: StateCoding<State>
    let decisions: LoopInbox
    /// Measures stays where no history does.
    private let clock: any StayClock
    private let typedState = ObjectIdentifier(TypedState<State>.self)
    /// With a log nothing is decided at once.
    private let hasLog: Bool
    private(set) var cursor: LogCursor?
    /// Nil of a machine that has no stays.
    private(set) var stays: Stays<State>?
    @exclusivity(unchecked) var server: StateServer?

    /// States that have been seen, so that one that comes again is not encoded again.
    private var seen = RememberedStates<State, TypedState<State>>()
    private var latest: TypedState<State>?
    /// What sets have led to and was not handed over yet.
    @exclusivity(unchecked) private var entered = EnteredSnapshots()

    init(
        _ machine: StateMachine<State>,
        coding: StateCoding<State>,
        clock: any StayClock = KernelClock(),
        on loop: any EventLoop
    ) {
        self.machine = machine
        self.coding = coding
        self.current = coding
        self.clock = clock
        self.loop = loop
        self.decisions = LoopInbox(loop)
        self.proposals = Proposals(to: machine, on: loop, in: self.decisions)
        self.hasLog = machine.machine.hasLog
    }

    var schema: StateSchema { self.current.schema }

    var initial: EncodedState { self.encoded(self.current.initial) }

    var declaration: RecordedDeclaration? { self.current.declaration }

    var events: JSONValue? { self.current.behaviour?.events }

    var name: String? { self.current.behaviour?.machine }

    var allowance: (moves: Int, time: Duration)? {
        self.current.behaviour?.allowance(of: self.current.initial)
    }

    func description(of state: String) -> [JSONMember] {
        self.current.behaviour?.description(of: state) ?? []
    }

    /// That is in force from now on.
    func use(_ coding: StateCoding<State>) {
        self.current = coding
        self.seen = RememberedStates()
        self.latest = nil
    }

    func observe() -> EncodedSnapshot {
        let cursor = LogCursor(
            of: self.machine.machine,
            on: self.decisions,
            // Not weak, here and below: an object that is ever referred to weakly is counted out of line
            // from then on, at twice the cost wherever it is used.
            afterBurst: {
                self.server?.scheduleFlush()
                self.stays?.moves.arm()
            },
            task: { self.handOver(Transition($0)) }
        )
        self.cursor = cursor
        self.stays = self.coding.behaviour.map { behaviour in
            Stays(
                of: self.machine,
                from: Snapshot(cursor.start),
                behaviour,
                clock: self.clock,
                on: self.loop,
                in: self.decisions,
                deadline: { self.encoded($0).deadline }
            )
        }
        return self.encoded(Snapshot(cursor.start))
    }

    func catchUp() { self.cursor?.catchUp() }

    func boot(_ done: @escaping () -> Void) {
        guard let moves = self.stays?.moves else { return done() }
        moves.boot {
            self.catchUp()
            done()
        }
    }

    func beginMoving(telling tell: @escaping (Suspension?) -> Void) {
        self.stays?.begin(
            catchingUp: { self.catchUp() },
            correcting: { self.server?.renewed($0) },
            telling: tell
        )
    }

    func stopMoving() { self.stays?.stop() }

    func voterWent() { self.stays?.moves.voterWent() }

    func liftSuspension() { self.stays?.moves.lift() }

    var leftMs: Int64? { self.stays?.leftMs }

    func stop() {
        self.cursor?.close()
        self.cursor = nil
        self.stays?.stop()
        self.stays = nil
        self.server = nil
        self.decisions.close()
    }

    func state(_ name: String, data: JSONValue?) throws(WireError) -> EncodedState {
        self.encoded(try self.current.state(name, data: data))
    }

    // MARK: - What is asked of it

    func request(
        for call: EventCall,
        id: RequestID?,
        by setter: CompactPeer
    ) throws(WireError) -> ChangeRequest {
        guard self.coding.behaviour != nil else { throw call.foreign }
        if let data = call.data, data.members == nil {
            throw WireError(.badData, "data of \(call.name) must be an object")
        }
        if case .send(let send) = call, send.isEndOfRun {
            return try self.request(forEndOfRun: send, id: id)
        }
        return ChangeRequest(.event(call), cause: call.cause, id: id, by: setter)
    }

    func decide(
        _ state: EncodedState,
        _ call: SetCall?,
        cause: String?,
        by setter: CompactPeer
    ) -> SetOutcome? {
        guard !self.hasLog else { return nil }
        self.stays?.moves.lift()
        let typed = self.typed(state)
        let move = Move(
            to: typed.value,
            if: Move.Condition(call, by: self.coding),
            reenter: call?.reenter ?? false,
            cause: cause,
            by: setter
        )
        switch self.machine.machine.enterAtOnce(move, asking: .nobody(denials: nil)) {
        case nil: return nil
        case .success(.committed(let change)):
            return .committed(self.noted(self.encoded(change.place, typed)))
        case .success(.unchanged(let place)): return .unchanged(self.encoded(Snapshot(place)))
        case .failure(let refused):
            // Of another declaration it can only be evaluated at its turn.
            if refused.reason == .illegal,
                self.isOutdated(typed.state, at: Snapshot(refused.current))
            {
                return nil
            }
            return self.outcome(refused)
        }
    }

    func propose(_ request: ChangeRequest, of sets: Sets) {
        self.proposals.propose(request, of: sets, to: self)
    }

    var groupUnderWay: UInt64? { self.machine.machine.groupUnderWay }

    func afterCommits(_ done: @escaping @Sendable () -> Void) {
        self.machine.machine.afterCommits { [decisions] in decisions.run(done) }
    }

    func afterDecision(_ done: @escaping @Sendable () -> Void) {
        // What is never expected changes nothing, and has its turn like everything else.
        self.machine.machine.propose(
            Move(to: self.machine.machine.value, if: .holds { _ in false }),
            asking: Question(),
            isTimed: false,
            in: self.decisions
        ) { _ in done() }
    }

    func addVoter(
        _ name: VoterName,
        peer: Peer,
        deadline: VoteDeadline,
        before patterns: VoterPatterns,
        _ body: @escaping @Sendable (VoteRequest) -> Void
    ) -> Registration {
        self.proposals.addVoter(
            name,
            peer: peer,
            deadline: deadline,
            before: patterns,
            of: self,
            body
        )
    }

    // MARK: - Encoding

    func typed(_ state: EncodedState) -> TypedState<State> {
        // A cast would look the class up each time.
        precondition(
            ObjectIdentifier(type(of: state)) == self.typedState,
            "\(state.name) is a state of another machine"
        )
        return unsafeDowncast(state, to: TypedState<State>.self)
    }

    private func handOver(_ transition: Transition<State>) {
        let entered = self.entered.handOver(transition.seq)
        self.server?.append(
            entered ?? self.put(transition),
            by: transition.change.setter,
            cause: transition.cause
        )
        if self.stays != nil { self.pass(transition) }
    }

    private func put(_ transition: Transition<State>) -> EncodedSnapshot {
        self.encoded(transition)
    }

    private func pass(_ transition: Transition<State>) { self.stays?.passed(transition.snapshot) }

    /// What a set has led to, kept until it is handed over.
    func noted(_ snapshot: EncodedSnapshot) -> EncodedSnapshot {
        self.entered.keep(snapshot)
        return snapshot
    }

    func encoded(_ state: State) -> TypedState<State> {
        if let latest, latest.state == state, state.isSpelled(as: latest.state) { return latest }
        let found = self.seen.form(of: state) { state in
            let typed = TypedState(state, self.coding)
            return (typed, typed.fragment.count)
        }
        self.latest = found
        return found
    }
}

import NIOCore
import StateMachineCore
import StateMachineProtocol

/// A machine of states of one type, served: all that the server does with the type itself.
///
/// `@unchecked Sendable`: its variables are touched on `loop` only.
final class TypedMachine<State: MachineState>: ServedMachine, @unchecked Sendable {
    let machine: StateMachine<State>
    private let loop: any EventLoop
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
    /// With a log nothing is decided at once.
    private let hasLog: Bool
    private(set) var receptionist: Receptionist<State>?
    /// Nil of a machine that has no stays.
    private(set) var stays: Stays<State>?
    @exclusivity(unchecked) var server: StateServer?

    /// States that have been seen, so that one that comes again is not encoded again.
    private var seen = RememberedStates<State, TypedState<State>>()
    private var latest: TypedState<State>?
    /// What sets have led to and was not handed over yet, with the seq of the first: it need not be put
    /// together again.
    @exclusivity(unchecked) private var entered: (first: UInt64, snapshots: [EncodedSnapshot]) = (
        0, []
    )
    /// The seq of the last one that was handed over.
    @exclusivity(unchecked) private var handedOver: UInt64 = 0
    /// Whether what is proposed in this turn of the loop gathers.
    private var isHolding = false
    /// Whether there were voters when that began, or one has come since.
    private var hasVoters = false
    /// Sets that wait for the log and for nobody.
    private var committing = 0

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
        self.hasLog = machine.hasLog
    }

    var schema: StateSchema { self.current.schema }

    var initial: EncodedState { self.encoded(self.current.initial) }

    var declaration: RecordedDeclaration? { self.current.declaration }

    /// That is in force from now on.
    func use(_ coding: StateCoding<State>) {
        self.current = coding
        self.seen = RememberedStates()
        self.latest = nil
    }

    func observe() -> EncodedSnapshot {
        let receptionist = Receptionist(
            of: self.machine,
            on: self.decisions,
            // Not weak, here and below: an object that is ever referred to weakly is counted out of line
            // from then on, at twice the cost wherever it is used.
            afterBurst: {
                self.server?.scheduleFlush()
                self.stays?.moves.arm()
            },
            task: { self.handOver($0) }
        )
        self.receptionist = receptionist
        self.stays = self.coding.behaviour.map { behaviour in
            Stays(
                of: self.machine,
                from: receptionist.start,
                behaviour,
                clock: self.clock,
                on: self.loop,
                in: self.decisions,
                deadline: { self.encoded($0).deadline }
            )
        }
        return self.encoded(receptionist.start)
    }

    func catchUp() { self.receptionist?.catchUp() }

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
        self.receptionist?.close()
        self.receptionist = nil
        self.stays?.stop()
        self.stays = nil
        self.server = nil
        self.decisions.close()
    }

    func state(_ name: String, data: JSONValue?) throws(WireError) -> EncodedState {
        self.encoded(try self.current.state(name, data: data))
    }

    // MARK: - Sets

    @_specialize(where State == AppState)
    @_specialize(where State == DynamicState)
    func decide(
        _ state: EncodedState,
        _ call: SetCall?,
        cause: String?,
        by: CompactPeer
    ) -> SetOutcome? {
        self.hasLog ? nil : self.outcome(of: state, call, cause, by)
    }

    /// Apart from ``decide(_:_:cause:by:)``, which chooses the code for the state's type: where the generic code
    /// stands beside the choice, all metadata that it would need is looked up before that is made.
    @inline(never)
    private func outcome(
        of state: EncodedState,
        _ call: SetCall?,
        _ cause: String?,
        _ by: CompactPeer
    ) -> SetOutcome? {
        self.stays?.moves.lift()
        let typed = self.typed(state)
        let move = Move(
            to: typed.state,
            if: self.condition(of: call),
            reenter: call?.reenter ?? false,
            cause: cause,
            by: by
        )
        switch self.machine.decideAtOnce(move) {
        case nil: return nil
        case .committed(let mark): return .committed(self.noted(self.encoded(mark, typed)))
        case .unchanged(let snapshot): return .unchanged(self.encoded(snapshot))
        case .refused(let error):
            // Of another declaration it can only be evaluated at its turn.
            if case .illegal(let current, _) = error, self.isOutdated(typed.state, at: current) {
                return nil
            }
            return self.outcome(error)
        }
    }

    /// A seq alone costs no closure.
    private func condition(of call: SetCall?) -> Move<State>.Condition {
        guard let call else { return .none }
        if call.ifState == nil, call.ifStay == nil { return call.ifSeq.map { .seq($0) } ?? .none }
        let coding = self.coding
        return .holds { coding.matches(call.ifSeq, call.ifState, call.ifStay, $0) }
    }

    @_specialize(where State == AppState)
    @_specialize(where State == DynamicState)
    func propose(
        _ state: EncodedState,
        _ call: SetCall?,
        cause: String?,
        id: RequestID?,
        by: CompactPeer,
        of sets: Sets
    ) {
        self.enqueue(state, call, cause, id, by, sets)
    }

    /// Apart from ``propose(_:_:cause:id:by:of:)``, as ``outcome(of:_:_:_:)`` is from what calls it.
    @inline(never)
    private func enqueue(
        _ state: EncodedState,
        _ call: SetCall?,
        _ cause: String?,
        _ id: RequestID?,
        _ by: CompactPeer,
        _ sets: Sets
    ) {
        self.stays?.moves.lift()
        self.holdGroups()
        let typed = self.typed(state)
        self.enqueue(
            .state(typed, call),
            .set(typed),
            call?.reenter ?? false ? .enter : .set,
            cause: cause,
            id: id,
            by: by,
            of: sets
        )
    }

    /// Proposes what is made at its turn; for a set of a declared state that may be by another file.
    ///
    /// Without a peer it is a move of the machine's own.
    func enqueue(
        _ wanted: PendingSet.Wanted,
        _ making: TypedSet<State>.Making,
        _ kind: Move<State>.Kind,
        cause: String?,
        id: RequestID?,
        by peer: CompactPeer?,
        of sets: Sets
    ) {
        self.holdGroups()
        let set = TypedSet(
            wanted,
            making,
            self,
            id: id,
            isOrdered: !self.hasVoters,
            isRequest: peer != nil,
            of: sets
        )
        sets.list(set)
        if set.isOrdered { self.committing += 1 }
        let move = Move<State>(
            to: set.target,
            if: .holds { set.isExpected($0) },
            as: kind,
            cause: cause,
            by: peer
        )
        self.machine.propose(
            consume move,
            isTimed: !set.isOrdered,
            // Decided at once, this is still the request's turn; decided later, it is whoever's thread
            // brought the last vote or the commit.
            in: self.decisions,
            // Holds the set alone, for which nothing has to be allotted.
            completion: { outcome in
                if set.isOrdered { set.machine.committing -= 1 }
                set.answer(set.machine.outcome(outcome, of: set))
            }
        )
    }

    private func outcome(_ outcome: MoveOutcome<State>, of set: TypedSet<State>) -> SetOutcome {
        switch (outcome, set.found) {
        case (.committed(let mark), .state(let typed)):
            if !set.isRequest { self.stays?.moves.moved() }
            return .committed(self.noted(self.encoded(mark, typed)))
        case (.committed, _): preconditionFailure("a change was made of what changes nothing")
        case (.unchanged(let snapshot), .rejected(let error)):
            return .rejected(error, current: self.encoded(snapshot))
        case (.unchanged(let snapshot), .illegal):
            let allowed = snapshot.state.successors
            return self.outcome(.illegal(current: snapshot, allowed: allowed))
        case (.unchanged(let snapshot), .unhandled):
            return .unchanged(self.encoded(snapshot), isHandled: false)
        case (.unchanged(let snapshot), .handled(renewing: true)):
            self.stays?.renewed(snapshot.stay)
            let renewed = self.encoded(snapshot)
            if let stay = renewed.stay { self.server?.renewed(stay) }
            return .unchanged(renewed)
        case (.unchanged(let snapshot), _): return .unchanged(self.encoded(snapshot))
        case (.refused(let error), .state(let typed)):
            guard case .refused(let refusal, _, let current) = self.outcome(error) else {
                return self.outcome(error)
            }
            // Of a set it is told as it was asked for.
            return .refused(refusal, of: set.wanted.state ?? typed, current: current)
        case (.refused(let error), _): return self.outcome(error)
        }
    }

    // MARK: - Events

    var events: JSONValue? { self.current.behaviour?.events }

    var name: String? { self.current.behaviour?.machine }

    var allowance: (moves: Int, time: Duration)? {
        self.current.behaviour?.allowance(of: self.current.initial)
    }

    func description(of state: String) -> [JSONMember] {
        self.current.behaviour?.description(of: state) ?? []
    }

    func propose(
        _ call: EventCall,
        id: RequestID?,
        by peer: CompactPeer,
        of sets: Sets
    ) throws(WireError) {
        guard self.coding.behaviour != nil else { throw call.foreign }
        if let data = call.data, data.members == nil {
            throw WireError(.badData, "data of \(call.name) must be an object")
        }
        switch call {
        case .send(let call) where call.event.isSpelled(StateSchema.endOfRun.name):
            return try self.proposeEndOfRun(call, id: id, of: sets)
        case .update: self.stays?.moves.lift()
        case .send(let call) where self.current.behaviour?.isDeclared(call.event) == true:
            self.stays?.moves.lift()
        // What is no event of the machine's asks for nothing.
        case .send: break
        }
        let (coding, starts) = (self.coding, self.stays?.starts)
        self.enqueue(
            .event(call),
            .made { (snapshot) throws(WireError) in
                try coding.made(of: call, from: snapshot) { starts?.renew($0.stay, after: $0.seq) }
            },
            call.isUpdate ? .update : .enter,
            cause: call.cause,
            id: id,
            by: peer,
            of: sets
        )
    }

    /// What is read in one turn of the loop is committed together; a lone set waits for nothing but
    /// the end of its turn.
    private func holdGroups() {
        guard !self.isHolding else { return }
        self.isHolding = true
        self.hasVoters = self.machine.holdGroups()
        self.loop.execute {
            self.isHolding = false
            self.machine.releaseGroups()
            // Several are worth a sleep: what comes meanwhile is the next group.
            if self.committing == 1 { self.decisions.linger { self.committing > 0 } }
        }
    }

    var groupUnderWay: UInt64? { self.machine.groupUnderWay }

    func afterCommits(_ done: @escaping @Sendable () -> Void) {
        self.machine.afterCommits { [decisions] in decisions.run(done) }
    }

    // MARK: - Voters

    func addVoter(
        _ name: VoterName,
        peer: Peer,
        deadline: VoteDeadline,
        before patterns: VoterPatterns,
        _ body: @escaping @Sendable (Question) -> Void
    ) -> Registration {
        let coding = self.coding
        // It is not asked about what came before it in this turn.
        if self.isHolding {
            self.machine.releaseGroups()
            _ = self.machine.holdGroups()
        }
        self.hasVoters = true
        return self.machine.addVoter(
            label: name.label,
            peer: peer,
            on: self.decisions,
            deadline: deadline,
            before: { proposal in patterns.contain { coding.matches($0, proposal.proposed) } },
            { ask in
                let proposal = ask.proposal
                body(
                    Question(
                        current: self.encoded(proposal.current),
                        proposed: self.encoded(proposal.proposed),
                        by: proposal.by,
                        cause: proposal.cause,
                        vote: { ask.vote($0) }
                    )
                )
            }
        )
    }

    // MARK: - Encoding

    private func typed(_ state: EncodedState) -> TypedState<State> {
        guard let typed = state as? TypedState<State> else {
            preconditionFailure("\(state.name) is a state of another machine")
        }
        return typed
    }

    @_specialize(where State == AppState)
    @_specialize(where State == DynamicState)
    private func handOver(_ transition: Transition<State>) { self.pass(transition) }

    /// Apart from ``handOver(_:)``, as ``outcome(of:_:_:_:)`` is from what calls it.
    @inline(never)
    private func pass(_ transition: Transition<State>) {
        self.handedOver = transition.seq
        self.server?.append(
            self.takeEntered(transition.seq) ?? self.encoded(transition),
            by: transition.setter,
            cause: transition.cause
        )
        self.stays?.passed(transition.snapshot)
    }

    /// What a set has led to, kept until it is handed over.
    private func noted(_ snapshot: EncodedSnapshot) -> EncodedSnapshot {
        guard snapshot.seq > self.handedOver else { return snapshot }
        if snapshot.seq != self.entered.first + UInt64(self.entered.snapshots.count) {
            self.entered = (snapshot.seq, [])
        }
        self.entered.snapshots.append(snapshot)
        return snapshot
    }

    private func takeEntered(_ seq: UInt64) -> EncodedSnapshot? {
        guard seq >= self.entered.first else { return nil }
        let index = Int(seq - self.entered.first)
        guard index < self.entered.snapshots.count else { return nil }
        let snapshot = self.entered.snapshots[index]
        if index == self.entered.snapshots.count - 1 {
            self.entered.snapshots.removeAll(keepingCapacity: true)
        }
        return snapshot
    }

    func encoded(_ state: State) -> TypedState<State> {
        if let latest, latest.state == state { return latest }
        let found = self.seen.form(of: state) { state in
            let typed = TypedState(state, self.coding)
            return (typed, typed.fragment.count)
        }
        self.latest = found
        return found
    }
}

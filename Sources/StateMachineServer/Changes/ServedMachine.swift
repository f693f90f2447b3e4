import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The machine that is served.
///
/// Belongs to the event loop: it is called there, and calls back there.
///
/// `@unchecked Sendable`: its variables are touched on `loop` only.
final class ServedMachine: @unchecked Sendable {
    let machine: Machine
    private let loop: any EventLoop
    /// How states are shown.
    ///
    /// Each is shown, and goes on, as what declares it says: so that this holds on any thread, whatever is in
    /// force.
    let states: any Schema
    /// How states are asked for and described: what is in force now.
    private(set) var current: any Schema
    /// The states that were set lately, by how they were written.
    ///
    /// To decode an enum and to encode it again takes longer than all the rest of a set, and most
    /// machines move between few states.
    private var recent: [JSONMember: Value] = [:]
    let decisions: LoopInbox
    /// Measures stays where no history does.
    private let clock: any StayClock
    /// With a log nothing is decided at once.
    private let hasLog: Bool
    private(set) var cursor: LogCursor?
    /// Nil of a machine that has no stays.
    private(set) var stays: Stays?
    var server: StateServer?

    /// Whether what is proposed in this turn of the loop gathers.
    private var isHolding = false
    /// Whether there were voters when that began, or one has come since.
    private var hasVoters = false
    /// Sets that wait for the log and for nobody.
    private var committing = 0

    init(
        _ machine: Machine,
        schema: any Schema,
        clock: any StayClock = KernelClock(),
        on loop: any EventLoop
    ) {
        self.machine = machine
        self.states = schema
        self.current = schema
        self.clock = clock
        self.loop = loop
        self.decisions = LoopInbox(loop)
        self.hasLog = machine.hasLog
        machine.findVoters { schema.places(of: $0) }
    }

    /// What the states in force are called, and what they carry.
    var schema: StateSchema { self.current.described }

    /// That is in force from now on.
    func use(_ schema: any Schema) {
        self.current = schema
        self.recent = [:]
    }

    func observe() -> EncodedSnapshot {
        let cursor = LogCursor(
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
        self.cursor = cursor
        self.stays =
            !self.states.hasStays
            ? nil
            : Stays(
                of: self.machine,
                from: cursor.start,
                self.states,
                clock: self.clock,
                on: self.loop,
                in: self.decisions
            )
        return self.encoded(cursor.start)
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

    /// The state that a line of that length asks for.
    func state(
        _ name: String,
        data: JSONValue?,
        lineLength: Int
    ) throws(WireError) -> Value {
        guard lineLength <= Self.recentBytes else {
            return self.encoded(try self.current.value(name, data: data))
        }
        let given = JSONMember(name, data ?? .object([]))
        if let value = self.recent[given] { return value }
        let value = self.encoded(try self.current.value(name, data: data))
        if self.recent.count == Self.recentStates { self.recent = [:] }
        self.recent[given] = value
        return value
    }

    /// How many states are remembered, and how long the line of one may be, in bytes.
    ///
    /// 64, of 1 KiB: more than most machines have, and some hundreds of KiB at most. Not tuned.
    private static let (recentStates, recentBytes) = (64, 1024)

    // MARK: - What is asked of it

    func decide(
        _ state: Value,
        _ call: ChangeCall,
        by setter: Peer
    ) -> Move.Answer? {
        guard !self.hasLog else { return nil }
        self.stays?.moves.lift()
        let move = Move(
            to: state,
            if: Move.Condition(call, by: self.states),
            reenter: call.reenter,
            cause: call.cause,
            by: setter
        )
        let answer = self.machine.enterAtOnce(move, asking: .nobody(denials: nil))
        // Of another declaration it can only be evaluated at its turn.
        if case .failure(let refused) = answer, refused.reason == .illegal,
            self.isOutdated(state, at: refused.current)
        {
            return nil
        }
        return answer
    }

    /// Proposes that state; it is decided, and its connection told, at its turn.
    ///
    /// What is read in one turn of the event loop is committed together; a lone set waits for nothing but the end of
    /// its turn.
    func propose(_ state: Value, _ call: ChangeCall, id: RequestID?, of sets: Sets) {
        self.stays?.moves.lift()
        self.enqueue(.set, call, .set(state), id: id, cause: call.cause, by: sets.peer, of: sets)
    }

    /// Proposes what an event or an update comes to.
    func propose(
        _ operation: StateMachineProtocol.Operation,
        _ call: ChangeCall,
        id: RequestID?,
        of sets: Sets
    ) throws(WireError) {
        let isUpdate = operation == .update
        guard self.states.hasStays else {
            throw isUpdate
                ? WireError(.unknownOperation, "this machine has no update; set the whole state")
                : WireError(.unknownEvent, "this machine has no events; set a state")
        }
        if let data = call.data, data.members == nil {
            let name = isUpdate ? operation.rawValue : call.name.excerpt()
            throw WireError(.badData, "data of \(name) must be an object")
        }
        if !isUpdate, call.isEndOfRun { return try self.propose(endOfRun: call, id: id, of: sets) }
        // What is no event of the machine's asks for nothing.
        if isUpdate || self.current.isDeclared(call.name) { self.stays?.moves.lift() }
        let (schema, starts) = (self.states, self.stays?.starts)
        let making = PendingSet.Making.made { (place) throws(WireError) in
            if isUpdate { return try schema.made(ofUpdate: call, from: place) }
            return try schema.made(ofEvent: call, from: place) {
                starts?.renew($0.stay, after: $0.seq)
            }
        }
        self.enqueue(operation, call, making, id: id, cause: call.cause, by: sets.peer, of: sets)
    }

    /// Proposes what is made at its turn; for a set of a declared state that may be by another file.
    private func enqueue(
        _ operation: StateMachineProtocol.Operation,
        _ call: ChangeCall,
        _ making: PendingSet.Making,
        id: RequestID?,
        cause: String?,
        by setter: Peer?,
        of sets: Sets
    ) {
        self.holdGroups()
        let set = PendingSet(
            operation,
            call,
            making,
            self,
            id: id,
            cause: cause,
            by: setter,
            of: sets
        )
        set.isOrdered = !self.hasVoters
        sets.list(set)
        if set.isOrdered { self.committing += 1 }
        let target: Move.Target =
            if let value = set.plain {
                .state(value)
            } else {
                .made { set.state(from: $0) }
            }
        self.machine.propose(
            Move(
                to: target,
                if: .holds { set.isExpected($0) },
                as: set.kind,
                cause: cause,
                by: setter
            ),
            asking: Question(),
            isTimed: !set.isOrdered,
            // Decided at once, this is still the request's turn; decided later, it is whoever's thread
            // brought the last vote or the commit.
            in: self.decisions
        ) { answer in
            set.machine.decided(set, answer)
        }
    }

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

    /// Calls `done` on the event loop when what is being decided now is decided, and every question
    /// that was put before has come.
    func afterDecision(_ done: @escaping @Sendable () -> Void) {
        // What is never expected changes nothing, and has its turn like everything else.
        self.machine.propose(
            Move(to: self.machine.value, if: .holds { _ in false }),
            asking: Question(),
            isTimed: false,
            in: self.decisions
        ) { _ in done() }
    }

    func addVoter(
        _ label: String,
        peer: Peer,
        deadline: VoteDeadline,
        before patterns: VoterPatterns,
        _ body: @escaping @Sendable (VoteRequest) -> Void
    ) -> VoterSeat {
        let schema = self.states
        // It is not asked about what came before it in this turn.
        if self.isHolding {
            self.machine.releaseGroups()
            _ = self.machine.holdGroups()
        }
        self.hasVoters = true
        return self.machine.addVoter(
            Machine.Voter(label: label, peer: peer, deadline: deadline),
            on: self.decisions,
            at: patterns.places,
            before: { motion in
                patterns.contain { schema.matches($0, motion.proposed) }
            },
            { ask in
                let motion = ask.motion
                body(
                    VoteRequest(
                        current: self.encoded(motion.current),
                        proposed: self.encoded(motion.proposed),
                        by: motion.by,
                        cause: motion.cause,
                        vote: { ask.vote($0) }
                    )
                )
            }
        )
    }

    // MARK: - What is answered

    private func decided(_ set: PendingSet, _ answer: Move.Answer) {
        if set.isOrdered { self.committing -= 1 }
        switch (answer, set.found) {
        case (.success(.committed), .state):
            // A move of the machine's own.
            if set.setter == nil { self.stays?.moves.moved() }
        case (.success(.committed), _):
            preconditionFailure("an unchanged state was recorded as a change")
        case (.success(.unchanged(let place)), .handled(renewing: true)):
            self.stays?.renewed(place.stay)
            if let stay = self.encoded(place).stay { self.server?.renewed(stay) }
        case (.success(.unchanged), _), (.failure, _): break
        }
        set.answer(answer)
    }

    // MARK: - Encoding

    private func handOver(_ change: Change) {
        self.server?.append(
            self.encoded(change),
            by: change.setter,
            cause: change.cause
        )
        self.stays?.passed(change.place)
    }

    /// The state, once it is encoded.
    func encoded(_ value: Value) -> Value {
        _ = self.states.encoded(value)
        return value
    }

    /// Where a change led.
    func encoded(_ change: Change) -> EncodedSnapshot {
        EncodedSnapshot(
            seq: change.seq,
            state: self.encoded(change.new),
            at: change.at,
            stay: self.stays?.stay(after: change)
        )
    }

    func encoded(_ place: Place) -> EncodedSnapshot {
        EncodedSnapshot(
            seq: place.seq,
            state: self.encoded(place.value),
            at: place.at,
            stay: self.stays?.stay(at: place)
        )
    }
}

/// A place in the order, by what the wire shows of it.
struct EncodedSnapshot: Sendable {
    let seq: UInt64
    let state: Value
    let at: WallTime
    /// Nil of a machine that has no stays.
    var stay: ServerLine.Stay?
}

extension EncodedSnapshot {
    /// Whether the stay began with it.
    var beginsStay: Bool { self.stay.map { $0.seq == self.seq } ?? true }

    /// The report of the snapshot as lines show it.
    func report(in epoch: Epoch) -> ServerLine.Report {
        ServerLine.Report(
            seq: self.seq,
            fragment: self.state.fragment,
            at: self.at,
            epoch: epoch,
            stay: self.stay
        )
    }
}

/// A question to a voter; letting go of it is consent.
struct VoteRequest: Sendable {
    let current: EncodedSnapshot
    let proposed: Value
    let by: Peer?
    let cause: String?
    /// Returns whether the vote still counted.
    let vote: @Sendable (Vote) -> Bool
}

/// How a machine is told that the command of a stay has ended.
extension ServedMachine {
    /// Proposes what an end of a run asks for: a move of the machine's own, of which somebody else knows.
    ///
    /// So it is no request of a client's: it lifts nothing, and what it makes counts with the machine's other moves and
    /// may be withheld like them. Whoever knows of it then comes again; that it comes twice does nothing, since the
    /// stay is over.
    private func propose(
        endOfRun call: ChangeCall,
        id: RequestID?,
        of sets: Sets
    ) throws(WireError) {
        let name = StateSchema.endOfRun.name
        guard let stay = call.ifStay else {
            throw WireError(
                .badRequest,
                "\(name) needs \"ifStay\", the number of the stay whose command has ended"
            )
        }
        guard call.cause == nil else {
            throw WireError(
                .badRequest,
                "\(name) takes no \"cause\"; the cause is how the command ended"
            )
        }
        let end = call.data?.members ?? []
        let move = try self.stays?.move(onEndOfRun: end, in: stay)
        if move != nil, let suspension = self.stays?.moves.suspension() {
            throw WireError(
                .suspended,
                "automatic transitions are suspended, after \(suspension.moves) within \(suspension.time), until a client "
                    + "sends set, update or send; report the end of the run again then"
            )
        }
        let (schema, cause) = (self.states, move?.cause)
        let making = PendingSet.Making.made { (place) throws(WireError) in
            try schema.made(ofEndOfRun: end, expecting: cause, from: place)
        }
        self.enqueue(.send, call, making, id: id, cause: cause, by: nil, of: sets)
    }
}

extension ChangeCall {
    /// Whether it tells that the command of a stay has ended.
    var isEndOfRun: Bool { self.name.isSpelled(StateSchema.endOfRun.name) }
}

extension Schema {
    /// What an end of a run comes to; `cause` is what its change would say of why if nothing has come in between.
    func made(
        ofEndOfRun end: [JSONMember],
        expecting cause: String?,
        from place: Place
    ) throws(WireError) -> PendingSet.Found {
        guard let move = try self.move(onEndOfRun: end, in: place.value) else {
            return .unhandled
        }
        // Another file has come into force meanwhile, in the same stay.
        guard move.cause == cause else {
            throw WireError(
                .suspended,
                "the machine's file has just been reloaded; send it again"
            )
        }
        return .state(try self.checked(move.next))
    }
}

/// What declares the machine becomes another while it is served.
///
/// What is in force is the declaration that the machine's own state leads to: it is replaced at the gate, in
/// order with all that is proposed, and what has been asked for as the states were is evaluated at its turn as they
/// are then. Here follows what only the event loop sees: what requests are read by, and what was made of it.
extension ServedMachine {
    /// Why what declares the machine stays as it was.
    struct NotRedeclared: Error {
        let sentence: String
    }

    /// Puts another declaration in force, with the present state carried over; told when it is, or why it is
    /// not and everything stays.
    func redeclare(
        _ schema: any Schema,
        done: @escaping @Sendable (Result<UInt64, NotRedeclared>) -> Void
    ) {
        self.server?.voters.expect(schema.described)
        self.machine.recast(
            cause: schema.declaration?.cause,
            in: self.decisions,
            { [isKept = self.machine.history != nil] in
                schema.recast($0.value, isKept: isKept)
            },
            completion: { outcome in
                defer { self.server?.voters.expect(nil) }
                switch outcome {
                case .same(let place):
                    self.redeclared(by: schema, at: place)
                    done(.success(place.seq))
                case .changed(let change):
                    self.redeclared(by: schema, at: change.place)
                    done(.success(change.seq))
                case .impossible(let why): done(.failure(NotRedeclared(sentence: why)))
                case .failed(let refused):
                    done(.failure(NotRedeclared(sentence: refused.sentence)))
                }
            }
        )
    }

    private func redeclared(by schema: any Schema, at place: Place) {
        self.use(schema)
        self.cursor?.catchUp()
        self.stays?.redeclared(place)
        guard let declaration = schema.declaration else { return }
        self.server?.redeclared(declaration, at: self.encoded(place))
    }

    /// Whether a state is of another declaration than the machine is.
    func isOutdated(_ value: Value, at place: Place) -> Bool {
        self.states.declaration(of: value) !== self.states.declaration(of: place.value)
    }
}

extension Refused {
    /// Why another declaration could not be put in force.
    fileprivate var sentence: String {
        guard case .notCommitted(let why) = self.reason else { return "\(self)" }
        return Refusal.notRecorded(why)
    }
}

extension Schema {
    /// What becomes of a state of another declaration; `isKept` says whether the next start goes on with it.
    fileprivate func recast(_ value: Value, isKept: Bool) -> Recast {
        do {
            let data = self.encoded(value).data.members ?? []
            let carried = try self.carried(value.name, data: data)
            let isSame = self.encoded(carried).fragment == self.encoded(value).fragment
            return isSame ? .same(carried) : .changed(carried)
        } catch {
            guard isKept else { return .impossible(error.sentence) }
            let start =
                self.lost.map {
                    "\"lost\" applies only at a start, and would lead to \($0.name)"
                }
                ?? "the next start would fail too; write \"lost: STATE\" in the file for where to go then"
            return .impossible("\(error.sentence); \(start)")
        }
    }
}

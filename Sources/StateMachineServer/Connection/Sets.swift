import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The sets of one connection: those that are not decided, and what their client is answered.
///
/// `@unchecked Sendable`: it belongs to the event loop, where its proposals are answered.
final class Sets: @unchecked Sendable {
    /// A `set`, a `send` or an `update` that has not been decided: voters are being asked, others are before it, or it
    /// is on its way to the disk.
    private final class UnderWay: Machine.Proposal, @unchecked Sendable {
        let request: Asked
        /// Whether it is answered in the order of the requests; one that votes may hold up is not.
        let isOrdered: Bool
        /// Whether it is the machine's own move.
        let isOwnMove: Bool
        private let sets: Sets

        init(_ move: Move, _ request: Asked, of sets: Sets, hasVoters: Bool) {
            let server = sets.server
            (self.request, self.isOrdered, self.sets) = (request, !hasVoters, sets)
            self.isOwnMove = move.setter == nil
            super.init(
                .move(move),
                asking: Sets.question,
                // Without voters that does not count.
                waited: hasVoters ? server.machine.stopwatch : nil,
                at: server.cursor
            )
        }

        override func decided(_ answer: Move.Answer) { self.sets.decided(self, answer) }
    }

    /// What of a request its answer depends on.
    private struct Asked {
        let id: RequestID?
        /// Nil if there was none.
        let condition: ChangeCondition?
        /// Whether it is said if the state asked for it: of a `send`.
        let isEvent: Bool
        init(id: RequestID?, _ terms: ChangeTerms, isEvent: Bool = false) {
            self.id = id
            self.isEvent = isEvent
            self.condition = terms.isPlain ? nil : terms.condition
        }
    }

    /// How voters are asked.
    private static let question: Question? = Question()

    private let output: Output
    private let server: StateServer

    /// Those that are under way, in the order of their requests; most connections never have any, and share this one.
    @exclusivity(unchecked) private var underWay = Sets.none
    private static let none = CircularBuffer<UnderWay>(initialCapacity: 0)
    /// What became of those whose client is owed the answer of one before, since what the engine has of a machine that hosts share may be
    /// decided after what it can no longer be given.
    private var early: [ObjectIdentifier: Move.Answer] = [:]
    /// How many of them are answered in that order.
    private var ordered = 0
    /// Whether one was carried out since the client was last written to.
    @exclusivity(unchecked) private var hasSet = false
    /// Whether hosts share the machine, so that a set may be decided before one that was asked for earlier.
    private let isShared: Bool

    init(_ output: Output) {
        self.output = output
        self.server = output.server
        self.isShared = output.server.sharing != nil
    }

    // MARK: - Requests

    /// Carries out a `set`; the reply comes when it is decided, which may be at once.
    func set(_ call: SetCall, id: RequestID?) throws(WireError) {
        let server = self.server
        guard !server.isClosing else { throw .shuttingDown }
        let state = try server.state(call.state, data: call.terms.data)
        self.noteSet()
        let origin = try self.output.origin(of: call.terms)
        let move = server.move(to: consume state, call, from: consume origin)
        let asked = Asked(id: id, call.terms)
        if let answer = server.machine.enterAtOnce(move, asking: Self.question) {
            self.answer(answer, to: asked)
        } else {
            self.propose(move, asked)
        }
    }

    /// Carries out a `send`; the reply comes when it is decided.
    func send(_ call: SendCall, id: RequestID?) throws(WireError) {
        guard !self.server.isClosing else { throw .shuttingDown }
        let call = call.placed(by: self.server.past.seq(of:))
        self.noteSet()
        let move = try self.server.move(for: call, from: try self.output.origin(of: call.terms))
        self.propose(move, Asked(id: id, call.terms, isEvent: true))
    }

    /// Carries out an `update`; the reply comes when it is decided.
    func update(_ call: UpdateCall, id: RequestID?) throws(WireError) {
        guard !self.server.isClosing else { throw .shuttingDown }
        let call = call.placed(by: self.server.past.seq(of:))
        self.noteSet()
        let move = try self.server.move(for: call, from: try self.output.origin(of: call.terms))
        self.propose(move, Asked(id: id, call.terms))
    }

    private func noteSet() {
        self.hasSet = true
        self.server.turns.setCame()
    }

    /// Lists a set, and has it decided at its turn.
    private func propose(_ move: Move, _ request: Asked) {
        let hasVoters = self.server.beginGathering()
        let set = UnderWay(move, request, of: self, hasVoters: hasVoters)
        self.underWay.append(set)
        if set.isOrdered { self.ordered += 1 }
        self.server.undecidedSets += 1
        self.server.machine.propose(set)
    }

    // MARK: - How many

    var count: Int { self.underWay.count }

    /// Whether answers of other requests have to wait for those of sets before them.
    var hasOrdered: Bool { self.ordered > 0 }

    /// Whether few enough wait for votes or for the disk.
    ///
    /// While all clients together have too many undecided sets, one that has any is not read. The last
    /// of its own to be decided has it read again.
    var mayTakeMore: Bool {
        if self.underWay.isEmpty { return self.server.limits.setsPerConnection > 0 }
        return self.underWay.count < self.server.limits.setsPerConnection
            && self.server.undecidedSets < self.server.limits.undecidedSets
    }

    /// Whether one was carried out since this was last asked.
    func takeHasSet() -> Bool { exchange(&self.hasSet, with: false) }

    // MARK: - The end

    /// Withdraws all sets that can be: the daemon is shutting down.
    func withdraw() {
        for set in self.underWay { self.server.machine.withdraw(set) }
    }

    /// Withdraws the sets that wait behind a vote: their client is gone.
    ///
    /// It waits for the end of the loop's turn, because sets that were read in this turn are still gathering.
    func withdrawWaiting() {
        guard self.underWay.contains(where: { !$0.isOrdered }) else { return }
        self.server.loop.assumeIsolated().execute {
            for set in self.underWay where !set.isOrdered {
                self.server.machine.withdraw(ifWaiting: set)
            }
        }
    }

    /// Answers those that are not decided, and will not happen.
    func refuse() {
        for set in exchange(&self.underWay, with: []) {
            if let early = self.early.removeValue(forKey: ObjectIdentifier(set)) {
                self.answer(early, to: set.request)
                continue
            }
            self.output.append(
                ServerLine.refusal(id: set.request.id, .shuttingDown, report: self.server.report),
                replies: 0
            )
        }
        self.ordered = 0
    }

    // MARK: - Answers

    /// Answers a set that had to wait.
    private func decided(_ set: UnderWay, _ answer: Move.Answer) {
        self.server.decided(answer, isOwnMove: set.isOwnMove)
        self.server.undecidedSets -= 1
        var isWithdrawn = false
        if case .failure(let refused) = answer { isWithdrawn = refused.reason == .withdrawn }
        // Answered as such when all others have been.
        if isWithdrawn, self.server.isClosing { return }
        if self.isShared, !isWithdrawn, self.mustWait(set) {
            self.early[ObjectIdentifier(set)] = answer
            return
        }
        guard self.unlist(set) else { return }
        if set.isOrdered { self.ordered -= 1 }
        if isWithdrawn {
            self.output.want()
        } else {
            self.output.setWasDecided()
            self.answer(answer, to: set.request)
        }
        if self.isShared { self.answerEarly() }
    }

    /// Takes it off the list; false if it is not there: the daemon is shutting down, and has answered it.
    private func unlist(_ set: UnderWay) -> Bool {
        // The first, unless that waits for votes.
        if self.underWay.first === set {
            self.underWay.removeFirst()
        } else {
            guard let index = self.underWay.firstIndex(where: { $0 === set }) else { return false }
            self.underWay.remove(at: index)
        }
        return true
    }

    /// Whether the answer of one that was asked for earlier is owed, and comes first.
    private func mustWait(_ set: UnderWay) -> Bool {
        guard set.isOrdered, let first = self.underWay.first(where: \.isOrdered) else {
            return false
        }
        return first !== set && self.underWay.contains { $0 === set }
    }

    /// Answers those that had to wait for one that is answered now.
    private func answerEarly() {
        while let index = self.underWay.firstIndex(where: \.isOrdered),
            let early = self.early.removeValue(forKey: ObjectIdentifier(self.underWay[index]))
        {
            let set = self.underWay.remove(at: index)
            self.ordered -= 1
            self.output.setWasDecided()
            self.answer(early, to: set.request)
        }
    }

    /// Tells the client what became of its request.
    private func answer(_ answer: Move.Answer, to request: Asked) {
        let server = self.server
        // The ring is brought up to it before the answer is written, once for all that are written then.
        switch answer {
        case .success(.committed(let change)):
            ServerLine.writeReply(
                to: &server.scratch.line,
                id: request.id,
                change,
                isHandled: request.isEvent ? true : nil,
                by: server.states,
                in: server.epoch,
                due: server.stays?.due(after: change)
            )
            self.accept(after: change.seq)
        case .success(.unchanged(let place, let why)):
            ServerLine.writeReply(
                to: &server.scratch.line,
                id: request.id,
                unchanged: server.report(of: place),
                isHandled: request.isEvent ? why != .unhandled : nil
            )
            self.accept(after: place.seq)
        case .failure(let refused):
            if let error = refused.error as? WireError {
                self.refuse(request.id, error, refused.current) { writer in
                    if error.code == .refused { writer.bool(.handled, true) }
                }
            } else {
                self.refuse(request, refused)
            }
        }
        server.scheduleFlush()
    }

    /// Replies with the line that was written; changes up to `seq` go before it.
    private func accept(after seq: UInt64) {
        self.output.replyWithLine(after: seq)
        if seq >= self.server.past.ring.head + Self.burst { self.server.catchUp() }
    }

    /// How many changes of one reading the ring may be behind.
    ///
    /// 64: so that clients are paused well before the ring is half full. Not tuned.
    private static let burst: UInt64 = 64

    // MARK: - Refusals

    /// Tells the client why its request changes nothing.
    private func refuse(_ request: Asked, _ refused: Refused) {
        let (id, current) = (request.id, refused.current)
        let state = refused.proposed ?? current.value
        switch refused.reason {
        case .conflict:
            let expected = request.condition?.expected(at: current) ?? "another state"
            let message =
                "expected \(expected), but the state is \(self.server.states.shortText(of: current.value)) at seq \(current.seq)"
            self.refuse(id, WireError(.conflict, message), current)
        case .illegal:
            let allowed = current.value.successors(among: self.server.schema.names)
            let error = WireError.illegalTransition(
                to: state.name,
                from: current.value.name,
                allowed: allowed
            )
            self.refuse(id, error, current) { writer in
                writer.json("allowed", .array(allowed.map { .string($0) }))
            }
        case .denied(let deciding):
            let denials = self.server.denials(deciding, of: refused.motion)
            self.refuse(id, WireError(.denied, denials.message), current) { writer in
                denials.write(to: &writer, ownPeer: self.server.ownPeer)
            }
        case .stale:
            let message =
                "nothing was changed: the daemon's own program set the state while voters were asked; "
                + "set it again if that is still wanted"
            self.refuse(id, WireError(.conflict, message), current)
        case .notCommitted(let why):
            let error =
                self.server.sharing == nil
                ? WireError(.internal, Refusal.notRecorded(why))
                : WireError(.unavailable, "nothing was changed: \(why)")
            self.refuse(id, error, current)
        case .unsure(let why):
            let code: ErrorCode = self.server.sharing == nil ? .internal : .unavailable
            let message = "the change may have been made: \(why)"
            self.refuse(id, WireError(code, message), current) { $0.bool("unsure", true) }
        case .overloaded:
            let message = "too many set requests are pending; try again later"
            self.refuse(id, WireError(.limit, message), current)
        // Neither comes here: nothing waits for it, and what is withdrawn is not answered.
        case .wouldWait, .withdrawn:
            self.refuse(id, WireError(.internal, "the change was withdrawn"), current)
        }
    }

    /// Answers with that error and where the machine was, after every change up to there.
    private func refuse(
        _ id: RequestID?,
        _ error: WireError,
        _ current: Place,
        own: (inout LineWriter) -> Void = { _ in }
    ) {
        self.server.counters.add(.refusals)
        self.output.reply(
            ServerLine.refusal(id: id, error, report: self.server.report(of: current), own: own),
            after: current.seq
        )
    }
}

extension Refusal {
    /// What a client is told where the history has failed.
    static func notRecorded(_ why: String) -> String {
        "the change was not made, as the history cannot be written: \(why)"
    }

    /// Why something was not recorded, or may not have been.
    var failure: String {
        switch self {
        case .notCommitted(let why), .unsure(let why): why
        case .illegal, .conflict, .denied, .stale, .overloaded, .wouldWait, .withdrawn: "\(self)"
        }
    }
}

extension ChangeCondition {
    /// Where the machine was to be, and is not, for people.
    func expected(at current: Place) -> String {
        if let seq = self.ifSeq, seq.seq != current.seq { return "seq \(seq.text)" }
        if let stay = self.ifStay, stay.seq != current.stay { return "stay \(stay.text)" }
        return self.ifState?.written ?? "another state"
    }
}

extension ExpectedChange {
    /// The number, or why there is none here.
    fileprivate var text: String {
        switch self {
        case .seq(let seq): "\(seq)"
        case .cursor(let cursor): "\(cursor.quoted), which is no change of this numbering"
        }
    }
}

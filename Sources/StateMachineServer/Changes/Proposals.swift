import NIOCore
import StateMachineCore
import StateMachineProtocol

/// What is proposed to a machine and answered at its turn, and who is asked about it.
///
/// These are sets that are not decided at once, and what events, updates and ends of runs lead to. What is read in one
/// turn of the event loop is committed together; a lone set waits for nothing but the end of its turn.
///
/// `@unchecked Sendable`: its variables are touched on `loop` only.
final class Proposals: @unchecked Sendable {
    private let machine: Machine
    private let loop: any EventLoop
    private let decisions: LoopInbox

    /// Whether what is proposed in this turn of the loop gathers.
    private var isHolding = false
    /// Whether there were voters when that began, or one has come since.
    private var hasVoters = false
    /// Sets that wait for the log and for nobody.
    private var committing = 0

    /// - Parameters:
    ///   - machine: the machine.
    ///   - loop: where all this happens.
    ///   - decisions: where the machine answers.
    init(to machine: Machine, on loop: any EventLoop, in decisions: LoopInbox) {
        self.machine = machine
        self.loop = loop
        self.decisions = decisions
    }

    // MARK: - What is proposed

    /// Proposes what is asked for.
    func propose(_ request: ChangeRequest, of sets: Sets, to served: ServedMachine) {
        switch request.wanted {
        case .state(let state, let call):
            served.stays?.moves.lift()
            let kind = call.reenter ? MoveKind.enter : .set
            self.enqueue(request, .set(state), kind, of: sets, to: served)
        case .event(.update(let call)):
            served.stays?.moves.lift()
            self.enqueue(request, self.making(.update(call), served), .update, of: sets, to: served)
        case .event(.send(let call)) where call.isEndOfRun:
            let (schema, end, cause) = (served.states, call.data?.members ?? [], request.cause)
            let making = PendingSet.Making.made { (place) throws(WireError) in
                try schema.made(ofEndOfRun: end, expecting: cause, from: place)
            }
            self.enqueue(request, making, .enter, of: sets, to: served)
        case .event(.send(let call)):
            // What is no event of the machine's asks for nothing.
            if served.current.isDeclared(call.name) {
                served.stays?.moves.lift()
            }
            self.enqueue(request, self.making(.send(call), served), .enter, of: sets, to: served)
        }
    }

    /// What an event or an update leads to.
    private func making(
        _ call: EventCall,
        _ served: ServedMachine
    ) -> PendingSet.Making {
        let (schema, starts) = (served.states, served.stays?.starts)
        return .made { (place) throws(WireError) in
            try schema.made(of: call, from: place) { starts?.renew($0.stay, after: $0.seq) }
        }
    }

    /// Proposes what is made at its turn; for a set of a declared state that may be by another file.
    private func enqueue(
        _ request: ChangeRequest,
        _ making: PendingSet.Making,
        _ kind: MoveKind,
        of sets: Sets,
        to served: ServedMachine
    ) {
        self.holdGroups()
        let set = PendingSet(request, making, served, isOrdered: !self.hasVoters, of: sets)
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
                as: kind,
                cause: request.cause,
                by: request.setter
            ),
            asking: Question(),
            isTimed: !set.isOrdered,
            // Decided at once, this is still the request's turn; decided later, it is whoever's thread
            // brought the last vote or the commit.
            in: self.decisions
        ) { answer in
            set.machine.proposals.decided(set, answer)
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

    // MARK: - Who is asked

    func addVoter(
        _ name: VoterName,
        peer: Peer,
        deadline: VoteDeadline,
        before patterns: VoterPatterns,
        of served: ServedMachine,
        _ body: @escaping @Sendable (VoteRequest) -> Void
    ) -> VoterSeat {
        let schema = served.states
        // It is not asked about what came before it in this turn.
        if self.isHolding {
            self.machine.releaseGroups()
            _ = self.machine.holdGroups()
        }
        self.hasVoters = true
        return self.machine.addVoter(
            Machine.Voter(label: name.label, peer: peer, deadline: deadline),
            on: self.decisions,
            at: patterns.places,
            before: { motion in
                patterns.contain { schema.matches($0, motion.proposed) }
            },
            { ask in
                let motion = ask.motion
                body(
                    VoteRequest(
                        current: served.encoded(motion.current),
                        proposed: served.encoded(motion.proposed),
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
        let served = set.machine
        switch (answer, set.found) {
        case (.success(.committed(let change)), .state):
            // A move of the machine's own.
            if set.request.setter == nil { served.stays?.moves.moved() }
            set.answer(.committed(served.encoded(change)))
        case (.success(.committed), _):
            preconditionFailure("a change was made of what changes nothing")
        case (.success(.unchanged(let place)), let found):
            set.answer(self.unchanged(served, place, found))
        case (.failure(let refused), .state(let value)):
            // Of a set it is told as it was asked for.
            let state = set.request.state ?? value
            let current = served.encoded(refused.current)
            set.answer(.refused(refused.reason, of: state, current: current))
        case (.failure(let refused), _): set.answer(served.outcome(refused))
        }
    }

    /// What it means that nothing has changed.
    private func unchanged(
        _ served: ServedMachine,
        _ place: Place,
        _ found: PendingSet.Found
    ) -> SetOutcome {
        switch found {
        case .rejected(let error): return .rejected(error, current: served.encoded(place))
        case .illegal: return served.outcome(Refused(.illegal, current: place))
        case .unhandled: return .unchanged(served.encoded(place), isHandled: false)
        case .handled(renewing: true):
            served.stays?.renewed(place.stay)
            let renewed = served.encoded(place)
            if let stay = renewed.stay { served.server?.renewed(stay) }
            return .unchanged(renewed)
        case .handled(renewing: false), .state: return .unchanged(served.encoded(place))
        }
    }
}

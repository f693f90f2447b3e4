import NIOCore
import StateMachineCore
import StateMachineProtocol

/// How what is asked for becomes what the machine does, and where each state is encoded.
extension StateServer {
    /// The state that a request asks for.
    func state(_ name: Spelling, data: GivenValue?) throws(WireError) -> Value {
        if let state = self.recent.state(name, data) { return state }
        let state = try self.states.checked(self.schema.value(name.text, data: data?.value))
        self.recent.keep(state, as: name, data)
        return state
    }

    /// Why a client may not ask for something now; nil if it may.
    func objection(to act: RestrictedAct, from origin: @autoclosure () -> Origin?) -> WireError? {
        self.schema.rights?.right(to: act)?.objection(to: act, from: origin())
    }

    /// Has the machine move by itself again, as a client has asked for something that it may ask for.
    ///
    /// Of a machine that hosts share only what is committed counts, which all of them see.
    private func lift(for call: some ChangeCall, _ origin: Origin?) {
        guard let stays, self.sharing == nil,
            !self.hasRights
                || self.objection(to: call.act(in: self.snapshot.value.name), from: origin) == nil
        else { return }
        stays.lift()
    }

    /// The move to that state, if it may follow the one that there is at its turn.
    func move(to state: consuming Value, _ call: SetCall, from origin: consuming Origin?) -> Move {
        if self.stays != nil { self.lift(for: call, origin) }
        return Move(
            to: .state(consume state, through: self.entrance),
            if: call.terms.isPlain ? .none : Move.Condition(call.terms.condition, by: self.states),
            reenter: call.reenter,
            from: consume origin
        )
    }

    /// The move that an event comes to at its turn.
    func move(for call: SendCall, from origin: Origin?) throws(WireError) -> Move {
        guard let rules = self.states.rules else {
            throw WireError(.unknownEvent, "this machine has no events; set a state")
        }
        try call.checkData(of: call.event.excerpt())
        if call.isEndOfRun { return try self.move(forEndOfRun: call, from: origin, by: rules) }
        // What is no event of the machine's asks for nothing.
        if self.schema.events.contains(where: { $0.name.isSpelled(call.event) }) {
            self.lift(for: call, origin)
        }
        return self.move(call, on: .event(call.event, call.members), from: origin, by: rules)
    }

    /// The move that an update comes to at its turn.
    func move(for call: UpdateCall, from origin: Origin?) throws(WireError) -> Move {
        guard let rules = self.states.rules else {
            throw WireError(.unknownOperation, "this machine has no update; set the whole state")
        }
        try call.checkData(of: StateMachineProtocol.Operation.update.rawValue)
        self.lift(for: call, origin)
        return self.move(call, on: .update(call.given), from: origin, by: rules)
    }

    private func move(
        _ call: some ChangeCall,
        on stimulus: Stimulus,
        from origin: Origin?,
        by rules: any MachineRules
    ) -> Move {
        let (schema, expected, sight) = (self.states, call.condition, self.sight)
        let starts = self.stays?.starts
        let target = Move.Target.made(
            { (place) throws(Refused) in
                let act = call.act(in: place.value.name)
                try place.judged { () throws(WireError) in
                    try rules.admit(origin, to: act, at: place)
                }
                // Who may not ask is not told whether what it expects holds.
                guard schema.matches(expected, place) else {
                    throw Refused(.conflict, current: place)
                }
                return try schema.made(stimulus, at: place, seeing: sight, starts)
            },
            renewingIn: self.stays?.renewable
        )
        return Move(to: target, from: origin)
    }

    /// Has what a client proposed change what is known of the machine's stays.
    func decided(_ answer: Move.Answer, isOwnMove: Bool) {
        switch answer {
        case .success(.committed) where isOwnMove: self.stays?.madeMove()
        case .success(.unchanged(let place, .renewed)):
            self.stays?.renewed(place)
            self.renewed(place, due: self.stays?.due(at: place))
        case .success, .failure: break
        }
    }

    /// Has all that is proposed in this turn of the loop gather; returns whether there are voters who may hold it up.
    ///
    /// What is read in one turn of the event loop is committed together; a lone set waits for nothing but the end of
    /// its turn.
    func beginGathering() -> Bool {
        let (isNew, hasVoters) = self.machine.beginGathering()
        guard isNew else { return hasVoters }
        self.loop.execute {
            self.machine.endGathering()
            // Several are worth a sleep: what comes meanwhile is the next group.
            guard self.undecidedSets == 1, !self.machine.hasVoters else { return }
            self.cursor.linger(&self.spin) { self.undecidedSets > 0 }
        }
        return hasVoters
    }

    // MARK: - Encoding

    /// A place, as lines show it now.
    func report(of place: Place) -> ServerLine.Report {
        self.report(of: place, due: self.stays?.due(at: place))
    }

    /// A place, with what time will do there.
    func report(of place: Place, due: ServerLine.Due?) -> ServerLine.Report {
        let report = self.states.report(of: place, in: self.epoch, due: due)
        return self.sharing.map { report.stale(for: $0.staleMs) } ?? report
    }
}

/// How a machine is told that the command of a stay has ended.
extension StateServer {
    /// What an end of a run asks for: a move of the machine's own, of which somebody else knows.
    ///
    /// So it is no request of a client's: it lifts nothing, and what it makes counts with the machine's other moves and
    /// may be withheld like them. Whoever knows of it then comes again; that it comes twice does nothing, since the
    /// stay is over.
    private func move(
        forEndOfRun call: SendCall,
        from origin: Origin?,
        by rules: any MachineRules
    ) throws(WireError) -> Move {
        let name = EventShape.endOfRun.name
        let act = call.act(in: self.snapshot.value.name)
        if let objection = self.objection(to: act, from: origin) { throw objection }
        guard let stay = call.condition.ifStay else {
            throw WireError(
                .badRequest,
                "\(name) needs \"ifStay\", the cursor or the number of the stay whose command has ended"
            )
        }
        guard call.cause == nil else {
            throw WireError(
                .badRequest,
                "\(name) takes no \"cause\"; the cause is how the command ended"
            )
        }
        guard !call.isForced else {
            throw WireError(
                .badRequest,
                "\(name) takes no \"force\"; its move is the machine's own"
            )
        }
        let end = try RunEnd(call.members)
        let foreseen = self.stays?.decision(on: end, in: stay.seq)
        if foreseen != nil, let suspension = self.stays?.suspension() {
            throw WireError(
                .suspended,
                "automatic transitions are suspended, after \(suspension.most) within \(suspension.time), until a client "
                    + "sends set, update or send; report the end of the run again then"
            )
        }
        let (schema, expected, sight) = (self.states, call.condition, self.sight)
        let cause = foreseen?.cause
        let target = Move.Target.made { (place) throws(Refused) in
            try place.judged { () throws(WireError) in
                try rules.admit(origin, to: act, at: place)
            }
            guard schema.matches(expected, place) else {
                throw Refused(.conflict, current: place)
            }
            let made = try place.judged { () throws(WireError) in
                let decision = try rules.decide(.runEnded(end), at: place, seeing: sight.now, nil)
                guard case .enter = decision.made else { return decision.made }
                // Another file has come into force meanwhile, in the same stay.
                guard decision.cause == cause else {
                    throw WireError(
                        .suspended,
                        "the machine's file has just been reloaded; send it again"
                    )
                }
                return decision.made
            }
            if case .enter(let value) = made {
                try schema.admit(value, at: place, seeing: sight)
            }
            return made
        }
        return Move(to: target, cause: cause)
    }
}

extension ChangeCall {
    /// Refuses data that is no object; `name` is whose it is.
    fileprivate func checkData(of name: String) throws(WireError) {
        guard let data = self.data, !data.isObject else { return }
        throw WireError(.badData, "data of \(name) must be an object")
    }
}

extension MachineRules {
    /// Refuses whoever the declaration in force at a place does not let in.
    fileprivate func admit(
        _ origin: Origin?,
        to act: RestrictedAct,
        at place: Place
    ) throws(WireError) {
        if let objection = self.right(to: act, at: place)?.objection(to: act, from: origin) {
            throw objection
        }
    }
}

extension SendCall {
    /// Whether it tells that the command of a stay has ended.
    var isEndOfRun: Bool { self.event.isSpelled(EventShape.endOfRun.name) }
}

extension Place {
    /// What the machine's declaration makes of it, or has against it here.
    fileprivate func judged<Result>(
        _ make: () throws(WireError) -> Result
    ) throws(Refused) -> Result {
        do throws(WireError) {
            return try make()
        } catch {
            throw Refused(.illegal, current: self, because: error)
        }
    }
}

extension Schema {
    /// The state, if it is not too long to be shown.
    fileprivate func checked(_ value: Value) throws(WireError) -> Value {
        try self.encoded(value).checkLength()
        return value
    }

    /// Makes of a requested state what it is by the declaration in force; nil of a machine whose states never change.
    func entrance(seeing sight: SightBox) -> Move.Entrance? {
        guard let rules = self.rules else { return nil }
        return Move.Entrance(
            restating: { (wanted, place, origin) throws(Refused) in
                try place.judged { () throws(WireError) in
                    try rules.admit(origin, to: .set(wanted.name), at: place)
                    let restated = try rules.restated(wanted, at: place)
                    return restated === wanted ? wanted : try self.checked(restated)
                }
            },
            admitting: { (value, place) throws(Refused) in
                try self.admit(value, at: place, seeing: sight)
            }
        )
    }

    /// What the machine makes of something there.
    func made(
        _ stimulus: Stimulus,
        at place: Place,
        seeing sight: SightBox,
        _ starts: StayStarts?
    ) throws(Refused) -> Move.Made {
        guard let rules = self.rules else { return .nothing(.unhandled) }
        let made = try place.judged { () throws(WireError) in
            try rules.decide(stimulus, at: place, seeing: sight.now, starts).made
        }
        if case .enter(let value) = made { try self.admit(value, at: place, seeing: sight) }
        return made
    }

    /// Refuses a state that requires what is not seen.
    func admit(_ value: Value, at place: Place, seeing sight: SightBox) throws(Refused) {
        guard let rules = self.rules, !rules.requirements(of: value).isEmpty else { return }
        let denials = rules.denials(of: value, seeing: sight.now)
        guard denials.isEmpty else { throw Refused(.denied(by: denials), current: place) }
    }
}

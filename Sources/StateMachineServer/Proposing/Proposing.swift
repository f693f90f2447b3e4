import NIOCore
import StateMachineCore
import StateMachineProtocol

/// How what is asked for becomes what the machine does, and where each state is encoded.
extension StateServer {
    /// The state that a line of that length asks for.
    func state(_ name: String, data: JSONValue?, lineLength: Int) throws(WireError) -> Value {
        guard lineLength <= Self.recentBytes else {
            return try self.states.checked(self.current.value(name, data: data))
        }
        let given = JSONMember(name, data ?? .object([]))
        if let value = self.recent[given] { return value }
        let value = try self.states.checked(self.current.value(name, data: data))
        if self.recent.count == Self.recentStates { self.recent = [:] }
        self.recent[given] = value
        return value
    }

    /// How many states are remembered, and how long the line of one may be, in bytes.
    ///
    /// 64, of 1 KiB: more than most machines have, and some hundreds of KiB at most. Not tuned.
    private static let (recentStates, recentBytes) = (64, 1024)

    func decide(_ state: Value, _ call: SetCall, by setter: Peer) -> Move.Answer? {
        guard !self.machine.hasLog else { return nil }
        self.stays?.lift()
        let move = Move(
            to: state,
            if: Move.Condition(call.condition, by: self.states),
            reenter: call.reenter,
            cause: call.cause,
            by: setter
        )
        let answer = self.machine.enterAtOnce(move, asking: Question())
        // Of another declaration it can only be evaluated at its turn.
        if case .failure(let refused) = answer, refused.reason == .illegal,
            self.isOutdated(state, at: refused.current)
        {
            return nil
        }
        return answer
    }

    /// The move to that state, if it may follow the one that there is at its turn.
    func move(to state: Value, _ call: SetCall, by setter: Peer) -> Move {
        self.stays?.lift()
        let schema = self.states
        // Another file than it was read by may be in force at its turn.
        let target: Move.Target =
            if schema.hasStays {
                .made { (place) throws(Refused) in
                    if (try? place.following(state)) != nil { return .enter(state) }
                    let restated = try place.judged { () throws(WireError) in
                        try schema.restated(state, in: place.value).map(schema.checked)
                    }
                    return .enter(try place.following(restated ?? state))
                }
            } else {
                .state(state)
            }
        return self.move(to: target, call, as: call.reenter ? .enter : .set, by: setter)
    }

    /// The move that an event comes to at its turn.
    func move(for call: SendCall, by setter: Peer) throws(WireError) -> Move {
        guard self.states.hasStays else {
            throw WireError(.unknownEvent, "this machine has no events; set a state")
        }
        try call.checkData(of: call.event.excerpt())
        if call.isEndOfRun { return try self.move(forEndOfRun: call) }
        // What is no event of the machine's asks for nothing.
        if self.schema.events.contains(where: { $0.name.isSpelled(call.event) }) {
            self.stays?.lift()
        }
        let (schema, starts) = (self.states, self.stays?.starts)
        let target = Move.Target.made { (place) throws(Refused) in
            try place.judged { () throws(WireError) in
                try schema.made(ofEvent: call, from: place) {
                    starts?.renew($0.stay, after: $0.seq)
                }
            }
        }
        return self.move(to: target, call, as: .enter, by: setter)
    }

    /// The move that an update comes to at its turn.
    func move(for call: UpdateCall, by setter: Peer) throws(WireError) -> Move {
        guard self.states.hasStays else {
            throw WireError(.unknownOperation, "this machine has no update; set the whole state")
        }
        try call.checkData(of: StateMachineProtocol.Operation.update.rawValue)
        self.stays?.lift()
        let schema = self.states
        let target = Move.Target.made { (place) throws(Refused) in
            try place.judged { () throws(WireError) in
                try schema.made(ofUpdate: call, from: place)
            }
        }
        return self.move(to: target, call, as: .update, by: setter)
    }

    private func move(
        to target: Move.Target,
        _ call: some ChangeCall,
        as kind: MoveKind,
        by setter: Peer
    ) -> Move {
        let condition = Move.Condition(call.condition, by: self.states)
        return Move(to: target, if: condition, as: kind, cause: call.cause, by: setter)
    }

    /// Has what a client proposed change what is known of the machine's stays.
    func decided(_ answer: Move.Answer, isOwnMove: Bool) {
        switch answer {
        case .success(.committed) where isOwnMove: self.stays?.madeMove()
        case .success(.unchanged(let place, .renewed)):
            self.stays?.renewed(place.stay)
            self.renewed(place.stay, due: self.stays?.due(at: place))
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

    /// What the states in force are called, and what they carry.
    var schema: StateSchema { self.current.described }

    /// The state, once it is encoded.
    func encoded(_ value: Value) -> Value {
        _ = self.states.encoded(value)
        return value
    }

    /// Where a change led, as lines show it.
    func report(of change: Change) -> ServerLine.Report {
        self.report(of: change.place, due: self.stays?.due(after: change))
    }

    /// A place, as lines show it now.
    func report(of place: Place) -> ServerLine.Report {
        self.report(of: place, due: self.stays?.due(at: place))
    }

    /// A place, with what time will do there.
    func report(of place: Place, due: ServerLine.Due?) -> ServerLine.Report {
        ServerLine.Report(
            seq: place.seq,
            fragment: self.states.encoded(place.value).fragment,
            at: place.at,
            epoch: self.epoch,
            stay: self.stays == nil ? nil : ServerLine.Stay(seq: place.stay, due: due)
        )
    }
}

/// How a machine is told that the command of a stay has ended.
extension StateServer {
    /// What an end of a run asks for: a move of the machine's own, of which somebody else knows.
    ///
    /// So it is no request of a client's: it lifts nothing, and what it makes counts with the machine's other moves and
    /// may be withheld like them. Whoever knows of it then comes again; that it comes twice does nothing, since the
    /// stay is over.
    private func move(forEndOfRun call: SendCall) throws(WireError) -> Move {
        let name = StateSchema.endOfRun.name
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
        let end = call.data?.members ?? []
        let move = try self.stays?.move(onEndOfRun: end, in: stay.seq)
        if move != nil, let suspension = self.stays?.suspension() {
            throw WireError(
                .suspended,
                "automatic transitions are suspended, after \(suspension.moves) within \(suspension.time), until a client "
                    + "sends set, update or send; report the end of the run again then"
            )
        }
        let (schema, cause) = (self.states, move?.cause)
        let target = Move.Target.made { (place) throws(Refused) in
            try place.judged { () throws(WireError) in
                try schema.made(ofEndOfRun: end, expecting: cause, from: place)
            }
        }
        let condition = Move.Condition(call.condition, by: schema)
        return Move(to: target, if: condition, as: .enter, cause: cause)
    }
}

extension ChangeCall {
    /// Refuses data that is no object; `name` is whose it is.
    fileprivate func checkData(of name: String) throws(WireError) {
        guard let data = self.data, data.members == nil else { return }
        throw WireError(.badData, "data of \(name) must be an object")
    }
}

extension SendCall {
    /// Whether it tells that the command of a stay has ended.
    var isEndOfRun: Bool { self.event.isSpelled(StateSchema.endOfRun.name) }
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
    /// What an event comes to; `willRenew` is called if the deadline is to begin anew.
    fileprivate func made(
        ofEvent call: SendCall,
        from place: Place,
        renewing willRenew: (Place) -> Void
    ) throws(WireError) -> Move.Made {
        let data = call.data?.members ?? []
        switch try self.reaction(to: call.event, data: data, in: place.value) {
        case .enter(let next): return .enter(try self.checked(next))
        case .stay:
            willRenew(place)
            return .nothing(.renewed)
        case .ignore: return .nothing(.same)
        case .unhandled: return .nothing(.unhandled)
        }
    }

    /// What an update comes to.
    fileprivate func made(
        ofUpdate call: UpdateCall,
        from place: Place
    ) throws(WireError) -> Move.Made {
        let value = place.value
        let data = try call.given.members(
            typedBy: self.fields(of: value),
            of: value.name,
            isUpdate: true
        )
        return .enter(try self.checked(self.updated(value, with: data, adding: call.add)))
    }

    /// What an end of a run comes to; `cause` is what its change would say of why if nothing has come in between.
    fileprivate func made(
        ofEndOfRun end: [JSONMember],
        expecting cause: String?,
        from place: Place
    ) throws(WireError) -> Move.Made {
        guard let move = try self.move(onEndOfRun: end, in: place.value) else {
            return .nothing(.unhandled)
        }
        // Another file has come into force meanwhile, in the same stay.
        guard move.cause == cause else {
            throw WireError(.suspended, "the machine's file has just been reloaded; send it again")
        }
        return .enter(try self.checked(move.next))
    }

    /// The state as it is shown, if that is not too long.
    fileprivate func checked(_ value: Value) throws(WireError) -> Value {
        _ = self.encoded(value)
        try value.checkLength()
        return value
    }
}

/// What a `set` requires of the machine: its seq, its state, its stay.
extension Move.Condition {
    /// All of the request's conditions, its cursors placed; a seq alone costs no closure.
    init(_ expected: ChangeCondition, by schema: any Schema) {
        switch expected.ifSeq {
        case nil where !expected.asksForState: self.init(seq: nil)
        case .seq(let seq) where !expected.asksForState: self.init(seq: seq)
        case nil, .seq, .cursor: self = .holds { schema.matches(expected, $0) }
        }
    }
}

extension Schema {
    /// Whether the machine is where a request expects it to be.
    func matches(_ expected: ChangeCondition, _ place: Place) -> Bool {
        (expected.ifSeq.map { $0.seq == place.seq } ?? true)
            && (expected.ifStay.map { $0.seq == place.stay } ?? true)
            && (expected.ifState?.contains { self.matches($0, place.value) } ?? true)
    }
}

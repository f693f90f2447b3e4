package import StateMachineCore
package import StateMachineProtocol

/// What a server knows of a machine that a file declares.
extension Declaration {
    /// The schema of its states: one as long as somebody keeps it, since it keeps the declaration.
    package var schema: Schema {
        if let schema = self.known.withLock(\.schema) { return schema }
        let schema = self.makeSchema()
        return self.known.withLock { known in
            if let earlier = known.schema { return earlier }
            known.schema = schema
            return schema
        }
    }

    /// The schema, if anybody keeps it.
    struct Known: Sendable {
        weak var schema: Schema?
    }

    private func makeSchema() -> Schema {
        let names = self.stateNames
        let states = self.states.enumerated().map { number, state in
            StateShape(
                number,
                state.name,
                fields: state.fields,
                carried: self.sharedFields,
                successors: state.successors.map { names[$0] },
                oldNames: state.oldNames,
                behaviour: self.behaviour(of: number)
            )
        }
        return Schema(
            states,
            events: self.events.map { EventShape($0.name, fields: $0.fields) },
            groups: self.groups.map { group in
                StateGroup(group.name, of: group.members.map { states[$0] })
            },
            rights: self.rights,
            links: self.links,
            asking: self.linkConditions,
            origin: .file(self.recorded),
            codec: self,
            rules: self,
            initial: TypedValue(self.initial),
            lost: { data in self.stateWhereLost(data).map { TypedValue($0) } }
        )
    }
}

extension Value {
    var declared: DeclaredState { TypedValue.state(of: self) }
}

extension Declaration: StateCodec {
    package func data(of value: Value) -> JSONValue { value.declared.data }

    package func schema(of value: Value) -> Schema? { value.declared.declaration.schema }

    package func value(
        _ state: StateShape,
        _ data: [JSONMember],
        from source: DataSource
    ) throws(WireError) -> Value {
        switch source {
        case .request: TypedValue(try self.state(state.number, data))
        case .record(let owner): TypedValue(try self.carried(state.number, data, of: owner))
        }
    }

    package func refusal(of member: JSONMember, in state: StateShape) -> WireError? {
        do {
            let fields = self.states[state.number].fields
            let field = fields[try fields.index(of: member.key, owner: state.name)]
            return field.misfit(of: member.value)?.refusal
        } catch {
            return error
        }
    }

    /// A recorded state, carried over into this declaration: its fields by name, else by default.
    ///
    /// A value that no longer fits throws, and no default takes its place.
    private func carried(
        _ number: Int,
        _ data: [JSONMember],
        of owner: String
    ) throws(WireError) -> DeclaredState {
        let state = self.states[number]
        let values = try state.fields.map { (field) throws(WireError) -> JSONValue? in
            guard let member = field.member(in: data), member.value != .null
            else {
                if let fallback = field.fallback { return fallback }
                guard !field.isOptional else { return nil }
                throw WireError(
                    .badData,
                    "the state \(state.name.quoted) needs the field \(field.name.quoted), which \(owner) "
                        + "does not have; give the field a \"default\", or write its old name in \"was\" if it was renamed"
                )
            }
            if let misfit = field.misfit(ofKept: member.value) {
                let refusal = misfit.refusal(as: member.key)
                throw WireError(
                    .badData,
                    "\(owner) does not fit \(state.name.quoted): \(refusal.message)"
                )
            }
            return member.value
        }
        return DeclaredState(self, number, values)
    }
}

extension Declaration: MachineRules {
    package func restated(_ wanted: Value, at place: Place) throws(WireError) -> Value {
        let (state, present) = (wanted.declared, place.value.declared)
        let next: DeclaredState
        if state.declaration === present.declaration {
            guard !state.carried.isEmpty || state.declared.hasKnownTimes else { return wanted }
            next = state.completed(by: present)
        } else {
            next = try present.declaration
                .state(state.declared.name, data: state.membersBesideDefaults)
                .completed(by: present)
        }
        return TypedValue(next.entered(at: place.seq + 1, from: present))
    }

    package func decide(
        _ stimulus: Stimulus,
        at place: Place,
        seeing sight: Sight,
        _ starts: StayStarts?
    ) throws(WireError) -> Decision {
        let remaining = self.remaining(at: place, starts)
        return try self.decide(stimulus, at: place, seeing: sight, remaining: remaining)
    }

    /// What is left of the state's own next time; nil: none is due, or nobody asks.
    private func remaining(at place: Place, _ starts: StayStarts?) -> Duration? {
        let state = place.value.declared
        guard state.declared.asksForRemaining else { return nil }
        return starts.flatMap { state.remaining(at: place, $0) }
    }

    /// The same, with what is left of the state's own next time; nil: none is due, or nobody asks.
    func decide(
        _ stimulus: Stimulus,
        at place: Place,
        seeing sight: Sight,
        remaining: Duration?
    ) throws(WireError) -> Decision {
        let state = place.value.declared
        guard case .update(let words) = stimulus else {
            let decision = try state.decision(on: stimulus, seeing: sight, remaining: remaining)
            return Decision(
                state.settled(decision.made, after: stimulus, at: place),
                cause: decision.cause
            )
        }
        let (name, known) = (state.declared.name, state.declared.fields)
        let fields = try words.steppingDown(in: known)
        let data = try fields.members(typedBy: known, of: name, isUpdate: true)
        return Decision(.keep(TypedValue(try state.updated(with: data, adding: fields.amounts))))
    }

    package func outlook(
        on event: String,
        at place: Place,
        seeing sight: Sight,
        _ starts: StayStarts?
    ) throws(WireError) -> Outlook {
        let known = Given(remaining: self.remaining(at: place, starts), sight: sight)
        return try place.value.declared.outlook(on: event, known)
    }

    package func due(at place: Place) -> [Due] {
        let state = place.value.declared
        return state.declared.after.isEmpty ? [] : state.due
    }

    package func times(of value: Value) -> [KnownTime] { value.declared.times }

    package func knowing(_ times: [KnownTime], _ value: Value, in stay: UInt64) -> Value {
        let state = value.declared
        let knowing = state.knowing(times, in: stay)
        return knowing.times == state.times ? value : TypedValue(knowing)
    }

    package func requirements(of value: Value) -> [LinkCondition] {
        value.declared.declared.requirements
    }

    package func requirements(ofState name: String, at place: Place) -> [LinkCondition] {
        let declaration = place.value.declared.declaration
        return declaration.stateNumber(name).map { declaration.states[$0].requirements } ?? []
    }

    package func lookouts(at place: Place) -> [LinkCondition] {
        place.value.declared.declared.lookouts.map(\.condition)
    }

    /// All that it asks of links.
    var linkConditions: Set<LinkCondition> {
        guard !self.links.isEmpty else { return [] }
        var asked: Set<LinkCondition> = []
        for state in self.states {
            asked.formUnion(state.requirements)
            asked.formUnion(state.lookouts.map(\.condition))
            let run = state.run
            let cases =
                state.reactions.values.joined() + state.lookouts.flatMap(\.cases)
                + state.after.flatMap(\.cases) + (state.boot ?? []) + (run?.done ?? [])
                + (run?.exits.values.joined().map(\.self) ?? []) + (run?.failed ?? [])
            for case .isSeen(let condition) in cases.flatMap(\.conditions).map(\.test) {
                asked.insert(condition)
            }
        }
        return asked
    }

    package func right(to act: RestrictedAct, at place: Place) -> Right? {
        place.value.declared.declaration.right(to: act)
    }

    /// Who may do that; nil: everybody, or there is nothing of that name.
    func right(to act: RestrictedAct) -> Right? {
        guard let rights else { return nil }
        switch act {
        case .set(let state) where self.stateNumber(state) == nil: return nil
        case .send(let event)
        where self.eventNumber(event) == nil && event != EventShape.endOfRun.name:
            return nil
        case .set, .send, .update, .vote: return rights.right(to: act)
        }
    }
}

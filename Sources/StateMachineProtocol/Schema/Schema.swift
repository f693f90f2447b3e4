package import StateMachineCore

/// What states a machine has, how they look from outside, and what the machine does besides being set.
///
/// One for a program's enum is a ``StateCoding``'s; of a file's machine each declaration has one. Pure: the same
/// answers every time. Questions about a state are answered by the state's own declaration, whether in force or
/// not.
package final class Schema: Sendable {
    /// What declares the states.
    package enum Origin: Sendable {
        /// They are built into a program.
        case program
        case file(RecordedDeclaration)
    }

    package let states: [StateShape]
    /// The events that may be sent to the machine.
    package let events: [EventShape]
    package let groups: [StateGroup]
    /// Who may do what; nil: everybody everything.
    package let rights: Rights?
    /// The machines that it sees, and all that it asks of them.
    package let links: [Link]
    package let linkConditions: Set<LinkCondition>
    package let origin: Origin
    package let codec: any StateCodec
    /// What the machine does besides being set; nil: it can only be set, and so has no stays.
    package let rules: (any MachineRules)?
    /// Whether the machine has events, updates and deadlines, and so stays; else it can only be set.
    package let hasStays: Bool
    /// The state that a machine is in before anybody has set one.
    package let initial: Value
    /// The state to start in if the present state, with that data, cannot be carried over; nil refuses to start.
    package let lost: @Sendable (_ data: [JSONMember]) -> Value?
    /// Why no machine can have such states, one sentence each; empty if one can.
    package let problems: [String]

    package init(
        _ states: [StateShape],
        events: [EventShape] = [],
        groups: [StateGroup] = [],
        rights: Rights? = nil,
        links: [Link] = [],
        asking linkConditions: Set<LinkCondition> = [],
        origin: Origin = .program,
        codec: any StateCodec,
        rules: (any MachineRules)? = nil,
        initial: Value,
        lost: @escaping @Sendable (_ data: [JSONMember]) -> Value? = { _ in nil },
        problems: [String] = []
    ) {
        self.states = states
        self.events = events
        self.groups = groups
        self.rights = rights
        self.links = links
        self.linkConditions = linkConditions
        self.origin = origin
        self.codec = codec
        self.rules = rules
        self.hasStays = rules != nil
        self.initial = initial
        self.lost = lost
        self.problems = problems
    }

    /// The declaration of the states, if a file declares them.
    package var declaration: RecordedDeclaration? {
        switch self.origin {
        case .program: nil
        case .file(let declaration): declaration
        }
    }

    /// The schema of a state: its declaration's, perhaps another than this one.
    package func schema(of value: Value) -> Schema { self.codec.schema(of: value) ?? self }

    package var names: [String] { self.states.map(\.name) }
}

/// The states of one name.
package struct StateShape: Hashable, Sendable {
    /// Its index among a schema's.
    package let number: Int
    package let name: String
    package let fields: [Field]
    /// How many of them, the last ones, have the values of the state before where a set gives none.
    private let carried: Int
    /// The states that may follow it with some data; of an enum's those that follow its examples.
    package let successors: [String]
    /// Its former names, none of which names a state now.
    let oldNames: [String]
    /// What else `describe` says of it.
    package let behaviour: [JSONMember]

    package init(
        _ number: Int,
        _ name: String,
        fields: [Field],
        carried: Int = 0,
        successors: [String],
        oldNames: [String] = [],
        behaviour: [JSONMember] = []
    ) {
        self.number = number
        self.name = name
        self.fields = fields
        self.carried = carried
        self.successors = successors
        self.oldNames = oldNames
        self.behaviour = behaviour
    }

    /// The fields that a set of it has to give.
    package var neededFields: [String] {
        self.fields.dropLast(self.carried).filter(\.isNeeded).map(\.name)
    }

    package func field(_ name: String) -> Field? {
        self.fields.first { $0.name.isSpelled(name) }
    }
}

/// An event that can be sent to a machine.
package struct EventShape: Hashable, Sendable {
    package let name: String
    package let fields: [Field]

    package init(_ name: String, fields: [Field]) {
        self.name = name
        self.fields = fields
    }
}

/// How the values of a machine's states are written and read.
///
/// There are two: an enum's `Codable` conformance, and the fields that a file declares.
package protocol StateCodec: Sendable {
    /// A state's `data`: an object.
    func data(of value: Value) -> JSONValue

    /// The state with that data.
    ///
    /// - Throws: `bad-data`, with what would have been right.
    func value(
        _ state: StateShape,
        _ data: [JSONMember],
        from source: DataSource
    ) throws(WireError) -> Value

    /// What there is against one value of a state's data, whatever the others are; nil if nothing.
    func refusal(of member: JSONMember, in state: StateShape) -> WireError?

    /// The schema that a state is of; nil if it is built into a program, so that whoever asks has it.
    func schema(of value: Value) -> Schema?
}

/// Where a state's data comes from.
package enum DataSource: Sendable {
    case request
    /// It was recorded, perhaps when the fields had other names and limits. Sentences call the state that.
    case record(of: String)
}

/// Why a recorded state cannot become one of a machine's.
package struct NotCarriedOver: Error, Hashable, Sendable {
    /// What is missing and what to do about it.
    package let sentence: String
    /// Whether there is such a state, so that it is its data that does not fit.
    package let hasState: Bool

    package init(sentence: String, hasState: Bool) {
        self.sentence = sentence
        self.hasState = hasState
    }
}

// MARK: - Moves of its own

extension Schema {
    /// What a machine does about something at a place, if that is a move of its own; nil if it is none.
    package func move(
        on stimulus: Stimulus,
        at place: Place,
        seeing sight: Sight = .nothing
    ) -> Decision? {
        // Only what a client asks for can be refused.
        guard let decision = try? self.rules?.decide(stimulus, at: place, seeing: sight, nil),
            case .enter = decision.made
        else { return nil }
        return decision
    }

    /// The changes that entered the groups that have times at that place; all may have come, and another file have more.
    private func groups(at place: Place) -> [UInt64] {
        self.rules?.times(of: place.value).compactMap(\.group) ?? []
    }

    /// From when on the stay counts that is at that place.
    package func start(at place: Place, by starts: StayStarts) -> StayStart {
        starts.start(of: place.stay, at: place.seq, place.at, groups: self.groups(at: place))
    }
}

// MARK: - States by name

extension Schema {
    /// The state of that name.
    ///
    /// - Throws: `unknown-state`.
    package func state(_ name: String) throws(WireError) -> StateShape {
        if let found = self.states.first(where: { $0.name.isSpelled(name) }) { return found }
        if let group = self.group(name) {
            throw WireError(
                .unknownState,
                "\(name.quoted) is a group; name one of its states",
                known: group.members
            )
        }
        throw self.unknown(name, "state", among: self.names)
    }

    /// The refusal of a name that is none of the known ones, which are of such a kind.
    func unknown(_ name: String, _ kind: String, among known: [String]) -> WireError {
        WireError(
            .unknownState,
            "there is no \(kind) \(name.quoted)"
                + (self.state(onceCalled: name).map { "; it is called \($0.name) now" }
                    ?? NearestName.remark(on: name, among: known)),
            known: known
        )
    }

    private func state(onceCalled name: String) -> StateShape? {
        self.states.first { $0.oldNames.contains { $0.isSpelled(name) } }
    }

    /// The state of that name, else the one with that former name.
    func state(ofOldState name: String) -> StateShape? {
        self.states.first { $0.name.isSpelled(name) } ?? self.state(onceCalled: name)
    }

    /// The group of that name.
    func group(_ name: String) -> StateGroup? {
        self.groups.first { $0.name.isSpelled(name) }
    }

    /// The state of that name with that data.
    ///
    /// - Throws: `unknown-state` or `bad-data`, with what would have been right.
    package func value(_ name: String, data: JSONValue?) throws(WireError) -> Value {
        let state = try self.state(name)
        guard let members = (data ?? .object([])).members else {
            throw WireError(.badData, "data of \(name) must be an object")
        }
        if data == nil, case .program = self.origin,
            state.fields.contains(where: { !$0.isOptional })
        {
            let names = state.fields.map(\.name)
            throw WireError(
                .badData,
                "\(name) needs data: \(names.joined(separator: ", "))",
                known: names
            )
        }
        return try self.codec.value(state, members, from: .request)
    }

    /// Converts a recorded state, perhaps from when the states looked different, to one of these: the state of that
    /// name, else the one that used to have it; its fields likewise.
    ///
    /// - Throws: what is missing; `owner` is what sentences call the state.
    package func carried(
        _ name: String,
        data: [JSONMember],
        of owner: String = "the present state"
    ) throws(NotCarriedOver) -> Value {
        guard let state = self.state(ofOldState: name) else {
            let sentence =
                switch self.origin {
                case .program:
                    "there is no state \(name.quoted); known: \(self.names.joined(separator: ", "))"
                case .file:
                    "the state \(name.quoted) no longer exists; write \"was: \(name.excerpt())\" in the state that "
                        + "replaces it"
                }
            throw NotCarriedOver(sentence: sentence, hasState: false)
        }
        do {
            let value = try self.codec.value(state, data, from: .record(of: owner))
            // One that was too long already, by an earlier version, is not lost.
            let grown = self.encoded(value).fragment.count
            if grown > RequestLimits.stateBytes, grown > Encoded(name, .object(data)).fragment.count
            {
                try self.encoded(value).checkLength()
            }
            return value
        } catch {
            throw NotCarriedOver(sentence: error.message, hasState: true)
        }
    }
}

extension StateShape {
    /// The field of that name.
    ///
    /// - Throws: `bad-data`.
    func known(_ name: String) throws(WireError) -> Field {
        guard let field = self.field(name) else {
            let known = self.fields.map(\.name)
            throw WireError(
                .badData,
                known.isEmpty
                    ? "\(self.name) has no field \(name.quoted); it has none"
                    : "\(self.name) has no field \(name.quoted); "
                        + "known: \(known.joined(separator: ", "))",
                known: known
            )
        }
        return field
    }

    /// Refuses a value that the field of its name cannot hold, whatever the field's bounds.
    ///
    /// - Returns: the field.
    @discardableResult
    func check(_ member: JSONMember) throws(WireError) -> Field {
        let field = try self.known(member.key)
        if let misfit = field.misfit(ofKind: member.value) {
            throw WireError(
                .badData,
                "\(member.key) of \(self.name) \(misfit.requirement)",
                values: field.values
            )
        }
        return field
    }

    /// Refuses texts that would cost the fields' types too much time.
    func checkMarks(of member: JSONMember) throws(WireError) {
        guard member.key.hasTooManyMarks || member.value.hasTooManyMarks else { return }
        throw WireError(
            .badData,
            "\(member.key.excerpt()) of \(self.name) has more than \(RequestLimits.marks) "
                + "combining marks in a row"
        )
    }
}

// MARK: - For `describe`

extension Schema {
    /// A state, as `describe` has it; `further` is said between its fields and what it does.
    package func described(
        _ state: StateShape,
        withDefaults: Bool = false,
        _ further: [JSONMember] = []
    ) -> JSONValue {
        .object(
            [
                JSONMember("state", .string(state.name)),
                JSONMember("fields", state.fields.described(withDefaults: withDefaults)),
            ] + further + state.behaviour
        )
    }

    /// The states that may follow each, as `describe` has them.
    package var describedTransitions: JSONValue {
        .object(
            self.states.map { JSONMember($0.name, .array($0.successors.map { .string($0) })) }
        )
    }

    /// The machines that it sees, as `describe` has them; nil if it sees none.
    package var describedLinks: JSONValue? {
        self.links.isEmpty
            ? nil : .object(self.links.map { JSONMember($0.name, $0.written) })
    }

    /// Who may do what, as `describe` has it; nil if everybody may do everything.
    package var describedRights: JSONValue? { self.rights?.described(self) }

    /// The events that may be sent, with the fields of each, as `describe` has them; nil if the machine takes none.
    package var describedEvents: JSONValue? {
        guard self.hasStays else { return nil }
        return .object(
            self.events.map { JSONMember($0.name, $0.fields.described(withDefaults: true)) }
        )
    }
}

extension [Field] {
    fileprivate func described(withDefaults: Bool) -> JSONValue {
        .object(self.map { JSONMember($0.name, $0.described(withDefault: withDefaults)) })
    }
}

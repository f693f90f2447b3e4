package import StateMachineCore

/// Another machine on this host whose state a machine's file asks for, under a name of its own.
package struct Link: Hashable, Sendable {
    /// Where its daemon is.
    package enum Place: Hashable, Sendable {
        /// An instance under the same manager; `-` is the one without a name.
        case instance(String)
        /// The one with that runtime directory.
        case directory(String)
    }

    package let name: String
    package let place: Place

    package init(_ name: String, at place: Place) {
        (self.name, self.place) = (name, place)
    }

    /// As `describe` has it, and the file.
    package var written: JSONValue {
        switch place {
        case .instance(let name): .string(name)
        case .directory(let path): ["runtime-directory": .string(path)]
        }
    }
}

/// `LINK is PATTERN`: that another machine is in such a state, or, with `!` before the pattern, in another one.
///
/// Of a machine that cannot be seen, and of states and fields that it does not have, it never holds.
package struct LinkCondition: Hashable, Sendable {
    package let link: String
    /// As it is written, after `is`.
    package let pattern: String

    /// Nil if it is nothing like that.
    package init?(_ text: String) {
        let bytes = text.utf8
        let end = bytes.firstIndex { !$0.isLetterOrDigit && $0 != 0x5F && $0 != 0x2D }
        guard let end, bytes.first?.isLetter == true else { return nil }
        let rest = String(text[end...]).trimmed
        guard rest.utf8.starts(with: "is".utf8), bytes[end] == 0x20 || bytes[end] == 0x09 else {
            return nil
        }
        let pattern = String(Substring(rest.utf8.dropFirst(2)))
        guard pattern.isEmpty || [0x20, 0x09].contains(pattern.utf8.first) else { return nil }
        self.link = String(text[..<end])
        self.pattern = pattern.trimmed
    }

    package var written: String { "\(self.link) is \(self.pattern)" }

    /// Whether a text is one, though perhaps with its `!` in front, where it may not be.
    package static func isMeant(by text: String) -> Bool {
        LinkCondition(text.hasPrefix("!") ? String(text.dropFirst()) : text) != nil
    }
}

/// What is seen of a machine's links at a moment.
package struct Sight: Sendable {
    /// What is seen of the conditions on one link.
    package struct Seen: Sendable {
        /// Its state, for people; nil: it cannot be seen.
        let state: String?
        /// The conditions that hold.
        package let holding: Set<LinkCondition>
        /// What there is against conditions that never hold of that machine.
        package let objections: [LinkCondition: String]
    }

    package private(set) var links: [String: Seen] = [:]

    package init() {}

    /// Nothing is seen.
    package static let nothing = Sight()

    /// Notes what is seen of a link.
    ///
    /// - Parameters:
    ///   - link: its name.
    ///   - state: the machine's state; nil: it cannot be seen.
    ///   - conditions: all that are asked of it, each with its pattern by the machine's own types, or what there is against it.
    package mutating func note(
        _ link: String,
        is state: NamedState?,
        of conditions: [LinkCondition: Result<Pattern, WireError>]
    ) {
        var (holding, objections) = (Set<LinkCondition>(), [LinkCondition: String]())
        for (condition, pattern) in conditions {
            switch pattern {
            case .success(let pattern):
                if let state, pattern.holds(of: state) { holding.insert(condition) }
            case .failure(let error): objections[condition] = error.message
            }
        }
        self.links[link] = Seen(
            state: state.map { StateText.text(name: $0.name, data: .object($0.data)).excerpt(128) },
            holding: holding,
            objections: objections
        )
    }

    /// Forgets all links but those.
    package mutating func keep(_ names: Set<String>) {
        self.links = self.links.filter { names.contains($0.key) }
    }

    package func holds(_ condition: LinkCondition) -> Bool {
        self.links[condition.link]?.holding.contains(condition) ?? false
    }

    /// Why a condition does not hold; nil if it does.
    package func objection(to condition: LinkCondition) -> String? {
        guard !self.holds(condition) else { return nil }
        let seen = self.links[condition.link]
        return seen?.objections[condition] ?? seen?.state.map { "it is \($0)" }
            ?? "it cannot be seen"
    }
}

extension Pattern {
    /// Whether it is so of a state, its `!` included.
    package func holds(of state: NamedState) -> Bool {
        self.matches(state.name, .object(state.data)) != self.isException
    }
}

extension MachineRules {
    /// Why a state may not be entered by what is seen: a no for each requirement that is not met.
    package func denials(of value: Value, seeing sight: Sight) -> [Vote.Denial] {
        self.requirements(of: value).denials(of: value.name, seeing: sight)
    }
}

extension [LinkCondition] {
    /// A no for each of a state's requirements that is not met.
    package func denials(of state: String, seeing sight: Sight) -> [Vote.Denial] {
        self.compactMap { condition in
            sight.objection(to: condition).map { why in
                let claim = Vote.Claim.link(condition.link)
                return Vote.Denial(
                    label: claim.label,
                    claim: claim,
                    why: "\(state) needs \(condition.link) \(condition.pattern); \(why)"
                )
            }
        }
    }
}

extension [Vote.Denial] {
    /// What is required and not so, in a sentence.
    package var lacks: String { self.map(\.why).joined(separator: ", and ") }
}

// MARK: - What another daemon says of its machine

extension Schema {
    /// The most states, groups and fields of one that are read of what a daemon describes.
    ///
    /// 4096: a machine's file has 256 states, and a program's enum hardly more.
    private static let mostDescribed = 4096

    /// The states of another machine, as its daemon describes them, to read patterns by: no state of it can be made.
    ///
    /// Nil if that is no description, or one too large to be a machine's.
    package convenience init?(describing answer: JSONValue) {
        guard let states = answer["states"]?.elements, states.count <= Self.mostDescribed else {
            return nil
        }
        var shapes: [StateShape] = []
        for state in states {
            guard let name = state["state"]?.string, let fields = state["fields"]?.members,
                fields.count <= RequestLimits.fields
            else { return nil }
            shapes.append(
                StateShape(
                    shapes.count,
                    name,
                    fields: fields.compactMap { Field(describing: $0) },
                    successors: []
                )
            )
        }
        let groups = answer["groups"]?.members ?? []
        guard groups.count <= Self.mostDescribed else { return nil }
        self.init(
            shapes,
            groups: groups.map { group in
                let names = Set((group.value.elements ?? []).compactMap { $0.string })
                return StateGroup(group.key, of: shapes.filter { names.contains($0.name) })
            },
            codec: ForeignStates(),
            initial: Value()
        )
    }
}

extension Field {
    /// A field as `describe` has it; nil if its type is none that is known here, so that nothing can be asked of it.
    fileprivate init?(describing field: JSONMember) {
        guard let type = field.value["type"]?.string.flatMap({ JSONFieldType(rawValue: $0) })
        else { return nil }
        self.init(field.key, type: type, isOptional: field.value["optional"]?.bool ?? false)
        self.values = field.value["values"]?.elements ?? []
    }
}

/// States that are only asked for.
private struct ForeignStates: StateCodec {
    func data(of value: Value) -> JSONValue { [:] }
    func schema(of value: Value) -> Schema? { nil }
    func refusal(of member: JSONMember, in state: StateShape) -> WireError? { nil }

    func value(
        _ state: StateShape,
        _ data: [JSONMember],
        from source: DataSource
    ) throws(WireError) -> Value {
        throw WireError(.unknownState, "\(state.name.quoted) is a state of another machine")
    }
}

package import StateMachineCore
package import StateMachineProtocol

/// A machine as a file declares it.
///
/// An immutable object, to which every state of the machine points.
public final class Declaration: Sendable {
    /// Something that can be sent.
    package struct Event: Hashable, Sendable {
        package let name: String
        package let fields: [Field]
    }

    /// States that share events.
    package struct Group: Hashable, Sendable {
        package let name: String
        /// The numbers of its states.
        package let members: [Int]
    }

    /// The machine's name, if the file says one.
    public let machine: String?
    /// What the file calls its version, for people.
    public let version: String?
    /// What the machine is for, for people.
    public let about: String?

    /// The declaration as it is recorded.
    package let recorded: RecordedDeclaration

    package let states: [StateDeclaration]
    package let events: [Event]
    package let groups: [Group]
    package let breaker: MoveBreaker.Limit
    /// How many of each state's fields, the last ones, are the machine's: all states have them.
    let sharedFields: Int
    /// Who may do what; nil: everybody everything.
    package let rights: Rights?
    /// The machines that it sees.
    package let links: [Link]

    private let start: DeclaredTarget
    /// Where to go at a start at which the present state cannot be carried over; none to refuse.
    let lost: [Branch]
    private let stateNumbers: [Spelling: Int]
    private let eventNumbers: [Spelling: Int]
    /// What ``schema`` gives.
    let known = Lock(Known())

    init(
        _ file: FileDraft,
        text: String,
        states: [StateDeclaration],
        groups: [Group],
        start: DeclaredTarget,
        lost: [Branch]
    ) {
        self.machine = file.machine
        self.version = file.version
        self.about = file.about
        self.recorded = RecordedDeclaration(
            hash: SHA256.hexadecimal(of: Array(text.utf8)),
            machine: file.machine,
            version: file.version,
            text: text
        )
        self.states = states
        self.events = file.events.map { Event(name: $0.name.value, fields: $0.fields) }
        self.groups = groups
        self.breaker = file.breaker
        self.sharedFields = file.shared.count
        self.rights = file.rights
        self.links = file.links.map(\.link)
        self.start = start
        self.lost = lost
        self.stateNumbers = states.map(\.name).numbered
        self.eventNumbers = self.events.map(\.name).numbered
    }

    /// The names of the states, in the file's order.
    public var stateNames: [String] { self.states.map(\.name) }

    /// Whether anything is to be run.
    package var hasCommands: Bool { self.states.contains { !$0.commands.isEmpty } }

    package func stateNumber(_ name: String) -> Int? { self.stateNumbers[Spelling(name)] }

    package func eventNumber(_ name: String) -> Int? { self.eventNumbers[Spelling(name)] }

    /// The groups that a state is in.
    package func groups(of state: Int) -> [Group] {
        self.groups.filter { $0.members.contains(state) }
    }

    /// The state in which the machine begins.
    package var initial: DeclaredState { self.filled(self.start).entered(at: 0, from: nil) }
}

extension [String] {
    /// The index of each text; for a repeated text, the first.
    var numbered: [Spelling: Int] {
        Dictionary(zip(self.map(Spelling.init), self.indices)) { first, _ in first }
    }
}

extension Declaration {
    /// The state that a target leads to in which the machine begins, or goes on: it has the values that the file gives;
    /// the machine's own fields have those of `carried`.
    private func filled(
        _ target: DeclaredTarget,
        carrying carried: [JSONValue?] = []
    ) -> DeclaredState {
        let fields = self.states[target.state].fields
        let values = zip(fields, target.sources).enumerated().map { index, pair -> JSONValue? in
            let (field, sources) = pair
            for source in sources {
                if case .literal(let value) = source { return value }
            }
            // They stand last in every state.
            let shared = index - fields.count + carried.count
            return shared >= 0 ? carried[shared] : field.fallback
        }
        return DeclaredState(self, target.state, values)
    }

    /// The state in which a start goes on where the recorded one, which has `data`, cannot be carried over: as the first
    /// case says that holds of the machine's fields; nil: nothing says it.
    func stateWhereLost(_ data: [JSONMember]) -> DeclaredState? {
        let shared = (self.states.first?.fields ?? []).suffix(self.sharedFields)
        let carried = shared.map { field -> JSONValue? in
            guard let member = field.member(in: data), field.misfit(of: member.value) == nil,
                member.value != .null
            else { return field.fallback }
            return member.value
        }
        let taken = self.lost.first { branch in
            branch.conditions.allSatisfy { Given().meets($0, left: carried) }
        }
        return taken?.outcome.target.map { self.filled($0, carrying: carried) }
    }
}

extension Declaration {
    /// Why a recorded change, perhaps made under an older file, would not happen under this one;
    /// nil if it would.
    ///
    /// Its states are carried over as the present one is at a start. A record does not tell a set
    /// from an event or an update: a client's change is fine if any of them leads that way, and the
    /// machine's own if anything does.
    package func objection(to change: RecordedTransition) -> String? {
        let new: DeclaredState
        do {
            new = try self.carried(change.new)
        } catch {
            return error.sentence
        }
        guard let recorded = change.old else { return nil }
        let old: DeclaredState
        do {
            old = try self.carried(recorded)
        } catch {
            // Reported for the change that led there.
            return nil
        }
        guard old.number != new.number, !change.isOfADeclaration else { return nil }
        let ways = self.edges(from: old.number).filter { $0.to == new.number }.map(\.kind)
        let (from, to) = (old.declared.name.quoted, new.declared.name.quoted)
        guard change.by != nil else {
            return ways.isEmpty ? "nothing leads from \(from) to \(to)" : nil
        }
        let isAllowed = ways.contains { kind in
            switch kind {
            case .set, .event: true
            case .after, .done, .exit, .failed, .interrupted, .boot, .link: false
            }
        }
        guard !isAllowed else { return nil }
        let allowed = old.declared.successors.map { self.states[$0].name }
        return "\(to) may not be set from \(from), and no event leads there; "
            + (allowed.isEmpty
                ? "nothing may be set from it" : "allowed: \(allowed.joined(separator: ", "))")
    }

    private func carried(
        _ state: RecordedTransition.State
    ) throws(NotCarriedOver) -> DeclaredState {
        guard let data = JSONValue(parsing: state.data)?.members else {
            throw NotCarriedOver(
                sentence: "the data of \(state.name.quoted) is not a JSON object",
                hasState: true
            )
        }
        return try self.schema.carried(state.name, data: data, of: "the recorded state").declared
    }

    /// A state that another declaration may have had, carried over into this one.
    package func carried(_ state: NamedState) throws(NotCarriedOver) -> DeclaredState {
        try self.schema.carried(state.name, data: state.data).declared
    }
}

extension RecordedTransition {
    /// Whether a new file caused it, which may take a machine anywhere.
    fileprivate var isOfADeclaration: Bool {
        self.by == nil && self.cause?.hasPrefix("declaration ") == true
    }
}

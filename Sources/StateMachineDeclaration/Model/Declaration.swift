import StateMachineCore
package import StateMachineProtocol

/// A machine as a file declares it.
///
/// An immutable object, to which every state of the machine points.
public final class Declaration: Sendable {
    /// Something that can be sent.
    package struct Event: Hashable, Sendable {
        package let name: String
        package let fields: [DeclaredField]
    }

    /// States that share events.
    package struct Group: Hashable, Sendable {
        package let name: String
        /// The numbers of its states.
        package let members: [Int]
    }

    /// How many moves of its own a machine makes before they are suspended.
    package struct Breaker: Hashable, Sendable {
        package let most: Int
        package let time: Duration
    }

    /// The machine's name, if the file says one.
    public let machine: String?
    /// What the file calls its version, for people.
    public let version: String?
    /// What the machine is for, for people.
    public let about: String?

    /// The declaration as it is recorded.
    package let recorded: RecordedDeclaration

    package let states: [DeclaredCase]
    package let events: [Event]
    package let groups: [Group]
    package let breaker: Breaker

    private let start: DeclaredTarget
    private let lost: DeclaredTarget?
    private let stateNumbers: [Spelling: Int]
    private let eventNumbers: [Spelling: Int]
    /// By state, whether a client may set it from that state.
    private let legality: [[Bool]]

    struct Parts {
        var machine: String?
        var version: String?
        var about: String?
        /// The file's text.
        var text: String
        var states: [DeclaredCase]
        var events: [Event]
        var groups: [Group]
        var breaker: Breaker
        var start: DeclaredTarget
        var lost: DeclaredTarget?
    }

    init(_ parts: Parts) {
        self.machine = parts.machine
        self.version = parts.version
        self.about = parts.about
        self.recorded = RecordedDeclaration(
            hash: SHA256.hexadecimal(of: Array(parts.text.utf8)),
            machine: parts.machine,
            version: parts.version,
            text: parts.text
        )
        self.states = parts.states
        self.events = parts.events
        self.groups = parts.groups
        self.breaker = parts.breaker
        self.start = parts.start
        self.lost = parts.lost
        self.stateNumbers = parts.states.map(\.name).numbered
        self.eventNumbers = parts.events.map(\.name).numbered
        self.legality = parts.states.map { state in
            var row = [Bool](repeating: false, count: parts.states.count)
            for successor in state.successors { row[successor] = true }
            return row
        }
    }

    /// The names of the states, in the file's order.
    public var stateNames: [String] { self.states.map(\.name) }

    /// Whether anything is to be run.
    package var hasCommands: Bool { self.states.contains { !$0.commands.isEmpty } }

    package func stateNumber(_ name: String) -> Int? { self.stateNumbers[Spelling(name)] }

    package func eventNumber(_ name: String) -> Int? { self.eventNumbers[Spelling(name)] }

    /// Whether a client may set the one state from the other.
    package func maySet(_ next: Int, from state: Int) -> Bool { self.legality[state][next] }

    /// The numbers of the states that a name stands for, a state's or a group's; empty if it is neither.
    package func states(named name: String) -> [Int] {
        if let number = self.stateNumber(name) { return [number] }
        return self.groups.first { $0.name.isSpelled(name) }?.members ?? []
    }

    /// The names of the fields that each of these states has, in the order of the first.
    package func commonFields(of states: [Int]) -> [String] {
        guard let first = states.first else { return [] }
        return self.states[first].fields.map(\.name).filter { name in
            states.allSatisfy { self.states[$0].fieldIndex(name) != nil }
        }
    }

    /// The groups that a state is in.
    package func groups(of state: Int) -> [Group] {
        self.groups.filter { $0.members.contains(state) }
    }

    /// The state in which the machine begins.
    package var initial: DeclaredState { self.filled(self.start, from: nil, event: []) }

    /// Where to go at a start at which the present state cannot be carried over; nil to refuse.
    package var lostState: DeclaredState? {
        self.lost.map { self.filled($0, from: nil, event: []) }
    }
}

extension [String] {
    /// The index of each text; for a repeated text, the first.
    var numbered: [Spelling: Int] {
        Dictionary(zip(self.map(Spelling.init), self.indices)) { first, _ in first }
    }
}

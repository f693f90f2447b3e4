import TestSupport

/// What a file declares, read a second time as plainly as possible and without any of the daemon's
/// code, for tests that check the daemon against it.
///
/// It knows only what the machines of these tests use.
struct MachineModel {
    /// A value of a field.
    enum Value: Hashable {
        case text(String)
        case integer(Int)
        case boolean(Bool)

        var json: String {
            switch self {
            case .text(let text): "\"\(text)\""
            case .integer(let number): "\(number)"
            case .boolean(let bool): "\(bool)"
            }
        }
    }

    struct Field {
        let type: String
        let values: [String]
        let min: Int?
        let max: Int?
        let fallback: Value?
        let isOptional: Bool

        func value(_ text: String) -> Value {
            switch self.type {
            case "integer": .integer(Int(text) ?? 0)
            case "boolean": .boolean(text == "true")
            default: .text(text)
            }
        }

        func takes(_ value: Value) -> Bool {
            switch (self.type, value) {
            case ("integer", .integer(let number)):
                number >= self.min ?? .min && number <= self.max ?? .max
            case ("boolean", .boolean): true
            case ("string", .text(let text)):
                (self.values.isEmpty || self.values.contains(text))
                    && text.utf8.count <= self.max ?? .max
            default: false
            }
        }
    }

    struct Target: Hashable {
        let state: String
        let literals: [String: String]
    }

    enum Reaction: Hashable {
        case stay, again, ignore
        case enter(Target)
    }

    struct State {
        let fields: [String: Field]
        /// The names that may be set next.
        let next: Set<String>
        let reactions: [String: Reaction]
        let after: (micros: Int64, text: String, target: Target)?
        let boot: Reaction?
        /// Where the ends of its command lead; nil if it runs none.
        let run: Run?
    }

    /// How a command has ended.
    enum End: Hashable {
        case exit(Int)
        case signal(String)
        case timeout
        case interrupted
    }

    struct Run {
        let done: Target?
        let exits: [Int: Target]
        let failed: Target?
        let interrupted: Target?

        /// Where that end leads, and why; nil if the stay goes on.
        func way(of end: End) -> (target: Target, cause: String)? {
            let usual = self.failed.map { (target: $0, cause: "failed") }
            switch end {
            case .exit(0): return self.done.map { (target: $0, cause: "done") }
            case .exit(let code):
                return self.exits[code].map { (target: $0, cause: "exit \(code)") } ?? usual
            case .signal, .timeout: return usual
            case .interrupted:
                return self.interrupted.map { (target: $0, cause: "interrupted") } ?? usual
            }
        }
    }

    let start: Target
    let states: [String: State]
    let events: [String: [String: Field]]
    /// How many moves of its own it may make in how many microseconds while nobody sends a request.
    let breaker: (most: Int, micros: Int64)

    init(_ text: String) throws {
        let root = try ModelNode(yaml: text)
        let states = root["states"] ?? .map([])
        let names = (states.mapping ?? []).map(\.key)
        let usual = root["to"]
        let always = (root["always"]?.words ?? [])
        let boot = root["boot"].map(Reaction.init)
        var shared: [(members: [String], reactions: [String: Reaction])] = []
        for (_, group) in root["groups"]?.mapping ?? [] {
            shared.append((group["states"]?.words ?? [], Self.reactions(group["when"])))
        }
        self.start = Target(root["start"]?.text ?? "")
        self.breaker = (
            root["moves"]?["most"].flatMap { Int($0.text) } ?? 50,
            root["moves"]?["in"].map { Self.micros($0.text) } ?? 60_000_000
        )
        self.events = (root["events"] ?? .map([])).texts.mapValues(Self.fields)
        self.states = states.texts.reduce(into: [:]) { all, item in
            let (name, state) = item
            let to = state["to"] ?? usual
            let next = to.map { $0.text == "any" ? names : $0.words } ?? names
            var reactions = Self.reactions(state["when"])
            for group in shared where group.members.contains(name) {
                reactions.merge(group.reactions) { own, _ in own }
            }
            let after = state["after"]?.mapping?.first.map { time, target in
                let micros = Self.micros(time)
                return (micros: micros, text: Self.text(micros), target: Target(target.text))
            }
            all[name] = State(
                fields: Self.fields(state["fields"] ?? .map([])),
                next: Set(next + always),
                reactions: reactions,
                after: after,
                boot: state["boot"].map(Reaction.init) ?? boot,
                run: state["run"].map { Self.run($0, in: state) }
            )
        }
    }

    private static func reactions(_ node: ModelNode?) -> [String: Reaction] {
        (node ?? .map([])).texts.mapValues(Reaction.init)
    }

    private static func run(_ node: ModelNode, in state: ModelNode) -> Run {
        let exits = (state["exit"] ?? .map([])).texts.map { code, target in
            (Int(code) ?? 0, Target(target.text))
        }
        let interrupted = node.mapping == nil ? nil : node["interrupted"]?.text
        return Run(
            done: state["done"].map { Target($0.text) },
            exits: Dictionary(exits) { first, _ in first },
            failed: state["failed"].map { Target($0.text) },
            interrupted: interrupted.flatMap { $0 == "again" ? nil : Target($0) }
        )
    }

    private static func fields(_ node: ModelNode) -> [String: Field] {
        node.texts.mapValues { node in
            let values = node["values"]?.words ?? []
            let type = node.mapping == nil ? node.text : node["type"]?.text ?? "string"
            let bare = Field(
                type: type,
                values: values,
                min: node["min"].flatMap { Int($0.text) },
                max: node["max"].flatMap { Int($0.text) },
                fallback: nil,
                isOptional: node["optional"]?.text == "true"
            )
            return Field(
                type: bare.type,
                values: bare.values,
                min: bare.min,
                max: bare.max,
                fallback: node["default"].map { bare.value($0.text) },
                isOptional: bare.isOptional
            )
        }
    }

    /// The largest unit first.
    private static func text(_ micros: Int64) -> String {
        var (text, rest) = ("", micros / 1000)
        for (name, milliseconds) in Self.units.sorted(by: { $0.value > $1.value }) {
            if rest >= milliseconds { text += "\(rest / milliseconds)\(name)" }
            rest %= milliseconds
        }
        return text
    }

    private static let units: [String: Int64] = [
        "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
    ]

    /// Parses one number with one unit.
    private static func micros(_ text: String) -> Int64 {
        let number = Int64(text.prefix { $0.isNumber }) ?? 0
        return number * (Self.units[String(text.drop { $0.isNumber })] ?? 0) * 1000
    }
}

extension MachineModel.Target {
    init(_ text: String) {
        let words = text.split(separator: " ").map(String.init)
        self.state = words[0]
        self.literals = words.dropFirst().reduce(into: [:]) { literals, word in
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            literals[parts[0]] = parts[1]
        }
    }
}

extension MachineModel.Reaction {
    init(_ node: ModelNode) {
        switch node.text {
        case "stay": self = .stay
        case "again": self = .again
        case "ignore": self = .ignore
        default: self = .enter(MachineModel.Target(node.text))
        }
    }
}

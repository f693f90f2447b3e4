import Foundation
import TestSupport

/// What a file declares, read a second time as plainly as possible and without any of the daemon's
/// code, for tests that check the daemon against it.
///
/// It knows only what the machines of these tests use.
struct MachineModel {
    /// A value of a field: text is equal byte by byte, a number by value.
    enum Value: Equatable {
        case text(String)
        /// As it is written.
        case number(String)
        case boolean(Bool)

        var json: String {
            switch self {
            case .text(let text): "\"\(text)\""
            case .number(let text): text
            case .boolean(let bool): "\(bool)"
            }
        }

        var decimal: Decimal? {
            if case .number(let text) = self { Decimal(string: text) } else { nil }
        }

        static func == (left: Self, right: Self) -> Bool {
            switch (left, right) {
            case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
            case (.number, .number): left.decimal == right.decimal
            case (.boolean(let left), .boolean(let right)): left == right
            case (.text, _), (.number, _), (.boolean, _): false
            }
        }
    }

    struct Field {
        let type: String
        let values: [Value]
        let min: Decimal?
        let max: Decimal?
        let fallback: Value?
        let isOptional: Bool

        func value(_ text: String) -> Value { Self.value(text, self.type) }

        static func value(_ text: String, _ type: String) -> Value {
            switch type {
            case "integer", "number": .number(text)
            case "boolean": .boolean(text == "true")
            default: .text(text)
            }
        }

        func takes(_ value: Value) -> Bool {
            let measured: Decimal
            switch (self.type, value) {
            case ("integer", .number(let text)) where Int64(text) == nil: return false
            case ("integer", .number), ("number", .number): measured = value.decimal ?? .nan
            case ("string", .text(let text)): measured = Decimal(text.utf8.count)
            case ("boolean", .boolean): return true
            default: return false
            }
            if let min = self.min, measured < min { return false }
            if let max = self.max, measured > max { return false }
            return self.values.isEmpty || self.values.contains(value)
        }

        /// The value with an amount added to it, or taken from it; nil if there is no such value.
        func sum(_ present: Value?, _ amount: Value?, isDown: Bool) -> Value? {
            guard case .number(let left)? = present, case .number(let right)? = amount else {
                return nil
            }
            if let left = Int64(left), let right = Int64(right) {
                let (sum, isTooLarge) =
                    isDown
                    ? left.subtractingReportingOverflow(right)
                    : left.addingReportingOverflow(right)
                if !isTooLarge { return .number("\(sum)") }
            }
            guard self.type == "number", let left = Double(left), let right = Double(right) else {
                return nil
            }
            return .number("\(isDown ? left - right : left + right)")
        }
    }

    struct Target {
        /// Nil: the state that is left.
        let state: String?
        /// `key=value`, where the key of a step ends with its sign.
        var words: [(key: String, value: String)] = []
        var data: [(key: String, value: String)] = []
        var add: [(key: String, value: String)] = []
    }

    enum Outcome {
        case stay, again, ignore
        case keep(Target)
        case enter(Target)
        case refuse(String)
    }

    struct Case {
        /// All of which must hold.
        let conditions: [Condition]
        let outcome: Outcome
    }

    struct State {
        let fields: [String: Field]
        /// The names that may be set next.
        let next: Set<String>
        let reactions: [String: [Case]]
        let after: (micros: Int64, text: String, cases: [Case])?
        let boot: [Case]?
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
        let done: [Case]?
        let exits: [Int: [Case]]
        let failed: [Case]?
        let interrupted: [Case]?

        /// Where that end leads, and why; nil if nothing is said about it.
        ///
        /// What is not an interruption after which the command is run again.
        func cases(of end: End) -> (list: [Case], cause: String)? {
            let usual = self.failed.map { (list: $0, cause: "failed") }
            switch end {
            case .exit(0): return self.done.map { (list: $0, cause: "done") }
            case .exit(let code):
                return self.exits[code].map { (list: $0, cause: "exit \(code)") } ?? usual
            case .signal, .timeout: return usual
            case .interrupted:
                return self.interrupted.map { (list: $0, cause: "interrupted") } ?? usual
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
        let boot = root["boot"].map(Self.cases)
        var shared: [(members: [String], reactions: [String: [Case]])] = []
        for (_, group) in root["groups"]?.mapping ?? [] {
            shared.append((group["states"]?.words ?? [], Self.reactions(group["when"])))
        }
        self.start = Target(root["start"] ?? .scalar(""))
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
            let after = state["after"]?.mapping?.first.map { time, cases in
                let micros = Self.micros(time)
                return (micros: micros, text: Self.text(micros), cases: Self.cases(cases))
            }
            all[name] = State(
                fields: Self.fields(state["fields"] ?? .map([])),
                next: Set(next + always),
                reactions: reactions,
                after: after,
                boot: state["boot"].map(Self.cases) ?? boot,
                run: state["run"].map { Self.run($0, in: state) }
            )
        }
    }

    private static func reactions(_ node: ModelNode?) -> [String: [Case]] {
        (node ?? .map([])).texts.mapValues(Self.cases)
    }

    private static func cases(_ node: ModelNode) -> [Case] {
        guard case .sequence(let elements) = node else { return [Case(node)] }
        return elements.map { Case($0) }
    }

    private static func run(_ node: ModelNode, in state: ModelNode) -> Run {
        let exits = (state["exit"] ?? .map([])).texts.map { (Int($0) ?? 0, Self.cases($1)) }
        return Run(
            done: state["done"].map(Self.cases),
            exits: Dictionary(exits) { first, _ in first },
            failed: state["failed"].map(Self.cases),
            interrupted: node["interrupted"].map(Self.cases)
        )
    }

    private static func fields(_ node: ModelNode) -> [String: Field] {
        node.texts.mapValues { node in
            let values = node["values"]?.words ?? []
            let type = node.mapping == nil ? node.text : node["type"]?.text ?? "string"
            return Field(
                type: type,
                values: values.map { Field.value($0, type) },
                min: node["min"].flatMap { Decimal(string: $0.text) },
                max: node["max"].flatMap { Decimal(string: $0.text) },
                fallback: node["default"].map { Field.value($0.text, type) },
                isOptional: node["optional"]?.text == "true"
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
    init(_ node: ModelNode) {
        guard node.mapping != nil else {
            let words = node.text.split(separator: " ").map(String.init)
            self.state = words[0] == "keep" ? nil : words[0]
            for word in words.dropFirst() {
                let parts = word.split(
                    separator: "=",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                self.words.append((String(parts[0]), String(parts[1])))
            }
            return
        }
        let name = node["state"]?.text ?? ""
        self.state = name == "keep" ? nil : name
        self.data = (node["data"]?.mapping ?? []).map { ($0.key, $0.value.text) }
        self.add = (node["add"]?.mapping ?? []).map { ($0.key, $0.value.text) }
    }
}

extension MachineModel.Case {
    init(_ node: ModelNode) {
        self.conditions =
            switch node["if"] {
            case .sequence(let texts)?: texts.map { MachineModel.Condition($0.text) }
            case let text?:
                text.text.split(separator: ",").map { MachineModel.Condition(String($0)) }
            case nil: []
            }
        if let refusal = node["refuse"] {
            self.outcome = .refuse(refusal.text)
        } else {
            self.outcome = MachineModel.Outcome(node["to"] ?? node)
        }
    }
}

extension MachineModel.Outcome {
    fileprivate init(_ node: ModelNode) {
        switch node.text {
        case "stay": self = .stay
        case "again": self = .again
        case "ignore": self = .ignore
        default:
            let target = MachineModel.Target(node)
            self = target.state == nil ? .keep(target) : .enter(target)
        }
    }
}

extension MachineModel {
    /// `FIELD OP VALUE`, `FIELD` or `!FIELD`.
    struct Condition {
        private let name: String
        private let comparison: (sign: String, operand: String)?
        private let isNegated: Bool

        init(_ text: String) {
            // The first sign counts; of two at the same place the longer one.
            let first = ["!=", "<=", ">=", "=", "<", ">"].enumerated()
                .compactMap { order, sign in
                    text.range(of: sign).map { (range: $0, order: order, sign: sign) }
                }
                .min { ($0.range.lowerBound, $0.order) < ($1.range.lowerBound, $1.order) }
            let isSpace = { (text: Substring) in text.trimmingCharacters(in: .whitespaces) }
            guard let first else {
                let text = isSpace(text[...])
                self.isNegated = text.hasPrefix("!")
                self.name = isSpace(text.drop { $0 == "!" })
                self.comparison = nil
                return
            }
            self.isNegated = false
            self.name = isSpace(text[..<first.range.lowerBound])
            self.comparison = (first.sign, isSpace(text[first.range.upperBound...]))
        }

        /// Whether it holds; `find` finds the field that a name means, and its value.
        func holds(_ find: (String) -> (field: Field, value: Value?)) -> Bool {
            let (field, value) = find(self.name)
            guard let (sign, operand) = self.comparison else {
                let isThere = field.type == "boolean" ? value == .boolean(true) : value != nil
                return isThere != self.isNegated
            }
            let isField = operand.hasPrefix("{") && operand.hasSuffix("}") && operand.count > 2
            let other =
                isField ? find(String(operand.dropFirst().dropLast())).value : field.value(operand)
            guard let value, let other else { return false }
            switch sign {
            case "=": return value == other
            case "!=": return value != other
            default: break
            }
            guard let left = value.decimal, let right = other.decimal else { return false }
            switch sign {
            case "<": return left < right
            case "<=": return left <= right
            case ">": return left > right
            default: return left >= right
            }
        }
    }
}

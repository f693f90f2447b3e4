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
            case "time": .number("\(MachineModel.micros(text) / 1000)")
            case "integer", "number": .number(text)
            case "boolean": .boolean(text == "true")
            default: .text(text)
            }
        }

        static func bound(_ text: String, _ type: String) -> Decimal? {
            type == "time" ? Decimal(MachineModel.micros(text) / 1000) : Decimal(string: text)
        }

        func takes(_ value: Value) -> Bool {
            let measured: Decimal
            switch (self.type, value) {
            case ("integer", .number(let text)) where Int64(text) == nil: return false
            case ("time", .number(let text)):
                guard let ms = Int64(text), (10...400 * 86_400_000).contains(ms) else {
                    return false
                }
                measured = Decimal(ms)
            case ("instant", .text): return self.order(value) != nil
            case ("integer", .number), ("number", .number): measured = value.decimal ?? .nan
            case ("string", .text(let text)): measured = Decimal(text.utf8.count)
            case ("boolean", .boolean): return true
            default: return false
            }
            if let min = self.min, measured < min { return false }
            if let max = self.max, measured > max { return false }
            return self.values.isEmpty || self.values.contains(value)
        }

        /// What orders the values of this type; nil of those that have no order.
        func order(_ value: Value) -> Decimal? {
            guard self.type == "instant" else { return value.decimal }
            guard case .text(let text) = value else { return nil }
            return MachineModel.wall(text).map { Decimal($0) }
        }

        /// The value with an amount added to it, or taken from it; nil if there is no such value.
        func sum(_ present: Value?, _ amount: Value?, isDown: Bool) -> Value? {
            guard self.type != "time", case .number(let left)? = present,
                case .number(let right)? = amount
            else { return nil }
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
        /// Its own, and behind them those of its groups.
        let times: [Time]
        let boot: [Case]?
        /// Where the ends of its command lead; nil if it runs none.
        let run: Run?
    }

    /// Where time leads.
    struct Time {
        enum Moment {
            case after(Int64)
            case field(String)
        }

        /// Nil: the state's own.
        let group: String?
        let moment: Moment
        let cases: [Case]

        /// Which one it is among those of the state, or of the group.
        var text: String {
            switch self.moment {
            case .after(let micros): MachineModel.text(micros)
            case .field(let name): "{\(name)}"
            }
        }
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
    /// The fields that every state has.
    let shared: [String: Field]
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
        let shared = Self.fields(root["fields"] ?? .map([]))
        self.shared = shared
        var groups: [(members: [String], reactions: [String: [Case]], times: [Time])] = []
        for (name, group) in root["groups"]?.mapping ?? [] {
            groups.append(
                (
                    group["states"]?.words ?? [], Self.reactions(group["when"]),
                    Self.times(group["after"], of: name)
                )
            )
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
            var times = Self.times(state["after"], of: nil)
            for group in groups where group.members.contains(name) {
                reactions.merge(group.reactions) { own, _ in own }
                times += group.times
            }
            all[name] = State(
                fields: Self.fields(state["fields"] ?? .map([])).merging(shared) { own, _ in own },
                next: Set(next + always),
                reactions: reactions,
                times: times,
                boot: state["boot"].map(Self.cases) ?? boot,
                run: state["run"].map { Self.run($0, in: state) }
            )
        }
    }

    private static func reactions(_ node: ModelNode?) -> [String: [Case]] {
        (node ?? .map([])).texts.mapValues(Self.cases)
    }

    private static func times(_ node: ModelNode?, of group: String?) -> [Time] {
        (node?.mapping ?? []).map { key, cases in
            let moment: Time.Moment =
                key.hasPrefix("{")
                ? .field(String(key.dropFirst().dropLast())) : .after(Self.micros(key))
            return Time(group: group, moment: moment, cases: Self.cases(cases))
        }
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
                min: node["min"].flatMap { Field.bound($0.text, type) },
                max: node["max"].flatMap { Field.bound($0.text, type) },
                fallback: node["default"].map { Field.value($0.text, type) },
                isOptional: node["optional"]?.text == "true"
            )
        }
    }

    /// The largest unit first; nobody says weeks.
    static func text(_ micros: Int64) -> String {
        var (text, rest) = ("", micros / 1000)
        let units = Self.units.filter { $0.key != "w" }
        for (name, milliseconds) in units.sorted(by: { $0.value > $1.value }) {
            if rest >= milliseconds { text += "\(rest / milliseconds)\(name)" }
            rest %= milliseconds
        }
        return text
    }

    private static let units: [String: Int64] = [
        "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
    ]

    /// Numbers with units.
    static func micros(_ text: String) -> Int64 {
        var (sum, rest) = (Int64(0), text[...])
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isNumber }
            let unit = rest.dropFirst(digits.count).prefix { !$0.isNumber }
            sum += (Int64(digits) ?? 0) * (Self.units[String(unit)] ?? 0) * 1000
            rest = rest.dropFirst(digits.count + unit.count)
        }
        return sum
    }

    /// The microseconds since 1970 at a moment that is written as `2026-11-20T14:00:00.5+02:00`; nil if it is none.
    static func wall(_ text: String) -> Int64? {
        let parts = text.split(separator: "T")
        guard parts.count == 2, let end = parts[1].firstIndex(where: { "Z+-".contains($0) })
        else { return nil }
        let date = parts[0].split(separator: "-").compactMap { Int64($0) }
        let clock = parts[1][..<end].split(separator: ".")
        let time = (clock.first ?? "").split(separator: ":").compactMap { Int64($0) }
        let offset = parts[1][end...].dropFirst().split(separator: ":").compactMap { Int64($0) }
        guard date.count == 3, time.count == 3 else { return nil }
        let fraction = clock.count > 1 ? clock[1] + String(repeating: "0", count: 6) : "0"
        // Days since 1970-01-01: a year begins in March, so that a leap day is its last.
        let (year, month) = (date[0] - (date[1] < 3 ? 1 : 0), (date[1] + 9) % 12)
        let days =
            365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + date[2] - 1
            - 719_468
        let ahead = offset.count == 2 ? (offset[0] * 60 + offset[1]) * 60 : 0
        let seconds = days * 86400 + (time[0] * 60 + time[1]) * 60 + time[2]
        return (seconds - (parts[1][end] == "-" ? -ahead : ahead)) * 1_000_000
            + (Int64(fraction.prefix(6)) ?? 0)
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
            let (left, right) = (field.order(value), field.order(other))
            switch sign {
            case "=": return field.type == "instant" ? left == right : value == other
            case "!=": return field.type == "instant" ? left != right : value != other
            default: break
            }
            guard let left, let right else { return false }
            switch sign {
            case "<": return left < right
            case "<=": return left <= right
            case ">": return left > right
            default: return left >= right
            }
        }
    }
}

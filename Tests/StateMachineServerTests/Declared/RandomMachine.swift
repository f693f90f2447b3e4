import Foundation
import StateMachineCore
import StateMachineProtocol
import TestSupport

/// Machines by chance, with everything that a case may be; each one is a file without mistakes.
///
/// Fields are called the same wherever they have the same type, so that they are carried along.
struct RandomMachine {
    private struct Field {
        let name: String
        let model: MachineModel.Field
        let written: String

        var isNumeric: Bool { ["integer", "number"].contains(self.model.type) }
        var isFree: Bool {
            self.model.min == nil && self.model.max == nil && self.model.values.isEmpty
        }
        var isNeeded: Bool { self.model.fallback == nil && !self.model.isOptional }

        /// Those of the literals that it takes.
        var literals: [String] {
            RandomMachine.literals(self.model.type).filter {
                self.model.takes(self.model.value($0))
            }
        }
    }

    private struct Owner {
        let name: String
        let fields: [Field]
        /// Whether it has times: the clock of a test does not know when a stay without any began.
        var isTimed = false

        func field(_ name: String) -> Field? { self.fields.first { $0.name == name } }
    }

    /// A moment of the calendar may have passed already: it leads to an earlier state, so that no circle takes no time.
    private enum Place { case when, after, moment, end, interrupted, boot }

    private let seed: UInt64
    private var random: SeededGenerator
    private var states: [Owner] = []
    private var events: [Owner] = []
    /// The fields of the machine, which stand last in every state.
    private var shared: [Field] = []
    private var start = ""

    private static let types = [
        ("n", "integer"), ("m", "integer"), ("n-", "integer"), ("d", "number"), ("g", "number"),
        ("t", "string"), ("w", "string"), ("b", "boolean"), ("k", "time"), ("l", "time"),
        ("u", "instant"), ("v", "instant"),
    ]
    private static let sharedTypes = [("x", "integer"), ("y", "time"), ("z", "instant")]

    /// The machine of that number.
    init(seed: UInt64) {
        self.seed = seed
        self.random = SeededGenerator(seed: seed)
        if self.chance(50) { self.shared = self.fields(most: 2, of: Self.sharedTypes) }
        for number in 0..<Int.random(in: 2...5, using: &self.random) {
            // Some have the same fields as the one before.
            let same = self.chance(40) ? self.states.last?.fields : nil
            let fields = same ?? self.fields(most: 7, of: Self.types) + self.shared
            var state = Owner(name: "s\(number)", fields: fields)
            state.isTimed = self.chance(75)
            self.states.append(state)
        }
        for number in 0..<5 {
            let types = Self.types + Self.sharedTypes
            self.events.append(Owner(name: "e\(number)", fields: self.fields(most: 4, of: types)))
        }
        self.start = self.target([], nil, isLast: true, isOwn: true)
    }

    /// What a field of that type may be given, near where its values end.
    static func literals(_ type: String) -> [String] {
        switch type {
        case "integer":
            [
                "-9223372036854775808", "-9223372036854775807", "-9007199254740993", "-4", "-3",
                "-1", "0", "1", "2", "3", "4", "9", "9007199254740991", "9007199254740992",
                "9007199254740993", "9007199254740994", "9223372036854775806",
                "9223372036854775807",
            ]
        case "number":
            [
                "-1e3", "-7.75", "-0.125", "0", "0.1", "0.30000000000000004", "1", "2.25", "2.50",
                "2.5", "2.500000000000000000001", "2.75", "3.00", "1e3", "9007199254740992",
                "9007199254740993", "9223372036854775807",
            ]
        case "boolean": ["true", "false"]
        case "time": ["10ms", "1s", "2500ms", "20s", "90s", "5min", "1h30min", "400d"]
        case "instant":
            [
                "1999-12-31T23:59:59Z", "2000-01-01T01:00:00.5Z", "2000-01-01T03:00:00.500+02:00",
                "2026-11-20T13:30:00+01:00", "2026-11-20T12:30:00Z", "2100-02-28T00:00:00-05:30",
            ]
        default: ["a", "b c", "1.10", "a=b", "no", "é", "e\u{301}", "red", "green", "blue", ""]
        }
    }

    /// The same, and moments near one of the wall clock.
    static func literals(_ type: String, near wall: Int64) -> [String] {
        guard type == "instant" else { return Self.literals(type) }
        let after: [Int64] = [-10_000, 0, 10, 20_000, 90_000, 400_000, 4_000_000]
        let near = after.flatMap { ms -> [String] in
            let moment = (wall / 1000 + ms) * 1000
            let ahead = WallTime(microseconds: moment + 7_200_000_000).rfc3339
            return [
                WallTime(microseconds: moment).rfc3339, ahead.replacing("Z", with: "+02:00"),
            ]
        }
        return near + Self.literals(type)
    }

    // MARK: - Fields

    private mutating func fields(most: Int, of types: [(String, String)]) -> [Field] {
        let count = Int.random(in: 0...most, using: &self.random)
        return types.shuffled(using: &self.random).prefix(count).sorted { $0.0 < $1.0 }
            .map { self.field($0.0, $0.1) }
    }

    private mutating func field(_ name: String, _ type: String) -> Field {
        let ranges: [(min: String?, max: String?)]
        var values: [String] = []
        switch type {
        case "integer":
            ranges = [
                (nil, nil), (nil, nil), ("0", "2"), ("0", nil), ("-3", "3"), (nil, "9"),
                ("9007199254740991", "9007199254740994"),
                ("9223372036854775806", "9223372036854775807"), ("-9223372036854775808", "-1"),
            ]
            if self.chance(10) { values = ["0", "1", "3"] }
        case "number":
            ranges = [
                (nil, nil), (nil, nil), ("0.1", "2.50"), ("0", nil), ("-1e3", "1e3"), (nil, "2.5"),
            ]
        case "time":
            ranges = [(nil, nil), (nil, nil), ("1s", "2h"), ("20s", nil), (nil, "5min")]
        case "instant": ranges = [(nil, nil)]
        default:
            ranges = name == "t" ? [(nil, nil), (nil, "2"), ("1", nil)] : [(nil, nil)]
            if name == "w" { values = ["red", "green", "blue"] }
            if name == "w", self.chance(30) { values.removeLast() }
        }
        let range: (min: String?, max: String?) =
            values.isEmpty ? self.one(of: ranges) : (nil, nil)
        var model = MachineModel.Field(
            type: type,
            values: values.map { MachineModel.Field.value($0, type) },
            min: range.min.flatMap { MachineModel.Field.bound($0, type) },
            max: range.max.flatMap { MachineModel.Field.bound($0, type) },
            fallback: nil,
            isOptional: false
        )
        let known = Self.literals(type).filter { model.takes(model.value($0)) }
        var keys = ["type: \(type)"]
        if !values.isEmpty { keys.append("values: [\(values.joined(separator: ", "))]") }
        if let min = range.min { keys.append("min: \(min)") }
        if let max = range.max { keys.append("max: \(max)") }
        let (fallback, isOptional): (String?, Bool) =
            switch Int.random(in: 0..<10, using: &self.random) {
            case 0..<2: (nil, false)
            case 2..<5: (nil, true)
            default: (self.one(of: known), false)
            }
        if isOptional { keys.append("optional: true") }
        if let fallback { keys.append("default: \(Self.quoted(fallback))") }
        model = MachineModel.Field(
            type: type,
            values: model.values,
            min: model.min,
            max: model.max,
            fallback: fallback.map(model.value),
            isOptional: isOptional
        )
        return Field(name: name, model: model, written: "{\(keys.joined(separator: ", "))}")
    }

    // MARK: - The file

    /// The file; each edition has the same states and fields, and leads elsewhere.
    func text(edition: Int) -> String {
        var copy = self
        copy.random = SeededGenerator(seed: self.seed &* 1_000_003 &+ UInt64(edition))
        return copy.file(edition)
    }

    private mutating func file(_ edition: Int) -> String {
        var lines = [
            "machine: random", "version: \"\(edition)\"", "start: \(self.start)",
            self.chance(25) ? "moves: {most: 3, in: 10min}" : "moves: {most: 100000, in: 1min}",
            "fields: \(Self.map(self.shared))", "events:",
        ]
        for event in self.events { lines.append("  \(event.name): \(Self.map(event.fields))") }
        var groups: [String] = []
        for number in 0..<Int.random(in: 0...2, using: &self.random) {
            let timed = self.states.filter(\.isTimed)
            let hasTimes = !timed.isEmpty && self.chance(70)
            let all = hasTimes ? timed : self.states
            let count = Int.random(in: 1...all.count, using: &self.random)
            let members = Array(all.shuffled(using: &self.random).prefix(count))
            let names = members.map(\.name).joined(separator: ", ")
            let when = self.when(members)
            let after = hasTimes ? ", after: \(self.after(members))" : ""
            groups.append("  g\(number): {states: [\(names)], when: \(when)\(after)}")
        }
        if !groups.isEmpty { lines += ["groups:"] + groups }
        lines.append("states:")
        for state in self.states {
            let fields = state.fields.dropLast(self.shared.count)
            lines += ["  \(state.name):", "    fields: \(Self.map(Array(fields)))"]
            lines.append("    when: \(self.when([state]))")
            if self.chance(20) { lines.append("    to: [\(self.one(of: self.states).name)]") }
            if state.isTimed { lines.append("    after: \(self.after([state]))") }
            if self.chance(40) { lines.append("    boot: \(self.cases(.boot, [state], nil))") }
            guard self.chance(60) else { continue }
            let interrupted = self.chance(60) ? self.cases(.interrupted, [state], nil) : "again"
            lines.append("    run: {command: /bin/a, interrupted: \(interrupted)}")
            if self.chance(80) { lines.append("    done: \(self.cases(.end, [state], nil))") }
            if self.chance(40) { lines.append("    exit: {3: \(self.cases(.end, [state], nil))}") }
            if self.chance(60) { lines.append("    failed: \(self.cases(.end, [state], nil))") }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Times of a state, or of a group; one at least is written, since none that a field says need be there.
    private mutating func after(_ members: [Owner]) -> String {
        let any = Int.random(in: 101...400, using: &self.random)
        let some = ["1s", "10s", "20s", "60s", "90s", "1h30min", "\(any)s"]
        let written = some.shuffled(using: &self.random)
            .prefix(self.one(of: [1, 1, 2, 3, 4]))
        var times = written.map { (key: $0, place: Place.after) }
        for field in members[0].fields where ["time", "instant"].contains(field.model.type) {
            guard members.allSatisfy({ $0.field(field.name)?.model.type == field.model.type }),
                self.chance(50), times.count < 8
            else { continue }
            let place: Place = field.model.type == "time" ? .after : .moment
            times.append((Self.quoted("{\(field.name)}"), place))
        }
        let entries = times.shuffled(using: &self.random).map { time in
            "\(time.key): \(self.cases(time.place, members, nil))"
        }
        return "{" + entries.joined(separator: ", ") + "}"
    }

    private static func map(_ fields: [Field]) -> String {
        "{" + fields.map { "\(Self.quoted($0.name)): \($0.written)" }.joined(separator: ", ") + "}"
    }

    private mutating func when(_ members: [Owner]) -> String {
        var entries: [String] = []
        for event in self.events where self.chance(60) {
            entries.append("\(event.name): \(self.cases(.when, members, event))")
        }
        return "{" + entries.joined(separator: ", ") + "}"
    }

    // MARK: - Cases

    /// What may follow where one of these states is left.
    private mutating func cases(_ place: Place, _ left: [Owner], _ event: Owner?) -> String {
        let count = self.one(of: [1, 1, 2, 2, 2, 3, 3, 4, 8])
        let cases = (1...count).map { number in
            self.aCase(place, left, event, isLast: number == count)
        }
        return count == 1 && self.chance(60)
            ? cases[0] : "[\(cases.joined(separator: ", "))]"
    }

    private mutating func aCase(
        _ place: Place,
        _ left: [Owner],
        _ event: Owner?,
        isLast: Bool
    ) -> String {
        let conditions = isLast || self.chance(15) ? [] : self.conditions(left, event)
        if place == .when, self.chance(10) {
            let condition = conditions.isEmpty ? "" : "if: \(self.written(conditions)), "
            return "{\(condition)refuse: \(Self.quoted("not now, é \(left.count)"))}"
        }
        let move = self.move(place, left, event, isLast: isLast)
        guard !conditions.isEmpty else { return self.chance(20) ? "{to: \(move)}" : move }
        return "{if: \(self.written(conditions)), to: \(move)}"
    }

    private mutating func written(_ conditions: [String]) -> String {
        self.chance(50)
            ? Self.quoted(conditions.joined(separator: self.one(of: [",", ", "])))
            : "[\(conditions.map(Self.quoted).joined(separator: ", "))]"
    }

    private mutating func move(
        _ place: Place,
        _ left: [Owner],
        _ event: Owner?,
        isLast: Bool
    ) -> String {
        let words: [String] =
            switch place {
            case .when: ["stay", "stay", "again", "ignore", "keep", "keep", "keep"]
            case .after: ["again", "ignore", "keep", "keep"]
            case .moment: ["ignore", "keep", "keep"]
            case .interrupted: ["again"]
            case .end, .boot: ["again", "ignore"]
            }
        let usual =
            switch place {
            case .when: 45
            case .after, .moment: 55
            case .end, .interrupted, .boot: 25
            }
        let earliest = left.compactMap { Int($0.name.dropFirst()) }.min() ?? 0
        guard self.chance(usual) || place == .moment && earliest == 0 else {
            return self.target(
                left,
                event,
                isLast: isLast,
                isOwn: place != .when,
                among: place == .moment ? Array(self.states.prefix(earliest)) : self.states
            )
        }
        let word = self.one(of: words)
        guard word == "keep" else { return word }
        return self.kept(left, event, isLast: isLast, isOwn: place != .when) ?? "ignore"
    }

    /// Nil if nothing can be kept otherwise.
    private mutating func kept(
        _ left: [Owner],
        _ event: Owner?,
        isLast: Bool,
        isOwn: Bool
    ) -> String? {
        let shared = left[0].fields.filter { field in
            left.allSatisfy { $0.field(field.name)?.written == field.written }
        }
        var given: [(field: Field, isStep: Bool)] = []
        for field in shared where self.chance(50) {
            // Past 64 bits no move of its own can be made.
            let canStep = self.canStep(field, left, isLast) && !(isOwn && isLast)
            given.append((field, canStep && self.chance(60)))
        }
        let brings = left.allSatisfy { owner in
            event?.fields.contains { owner.field($0.name) != nil } ?? false
        }
        guard !given.isEmpty || brings else { return nil }
        let isSigned = left.contains { owner in owner.fields.contains { $0.name == "n-" } }
        return self.written("keep", given, isSigned: isSigned, isLast: isLast, left, event)
    }

    private func canStep(_ field: Field, _ left: [Owner], _ isLast: Bool) -> Bool {
        field.isNumeric && !left.isEmpty && left.allSatisfy { $0.field(field.name) != nil }
            && (!isLast
                || field.isFree
                    && left.allSatisfy { $0.field(field.name)?.model.isOptional == false })
    }

    private mutating func target(
        _ left: [Owner],
        _ event: Owner?,
        isLast: Bool,
        isOwn: Bool,
        among states: [Owner]? = nil
    ) -> String {
        let state = self.one(of: states ?? self.states)
        var given: [(field: Field, isStep: Bool)] = []
        for field in state.fields {
            let sources = left.map { $0.field(field.name) }
            let isCertain =
                event?.field(field.name).map { !$0.model.isOptional } ?? false
                || !left.isEmpty && sources.allSatisfy { $0.map { !$0.model.isOptional } ?? false }
            // The moves of its own must fit when the file is read.
            let fits =
                !isOwn || !isLast
                || sources.allSatisfy { $0 == nil || field.isFree || $0?.written == field.written }
            // Past 64 bits no move of its own can be made.
            let canStep = self.canStep(field, left, isLast) && !(isOwn && isLast)
            if field.isNeeded && !isCertain || !fits || self.chance(50) {
                given.append((field, canStep && self.chance(50)))
            }
        }
        let isSigned = state.fields.contains { $0.name == "n-" }
        return self.written(state.name, given, isSigned: isSigned, isLast: isLast, left, event)
    }

    /// A target as a word or as a map; `isSigned`: whether `n-` is a field there.
    private mutating func written(
        _ name: String,
        _ given: [(field: Field, isStep: Bool)],
        isSigned: Bool,
        isLast: Bool,
        _ left: [Owner],
        _ event: Owner?
    ) -> String {
        var (words, data, add) = ([name], [String](), [String]())
        var isText = true
        // What is left of a time may be given as a word only.
        let asks =
            event != nil && left.allSatisfy(\.isTimed)
            && given.contains { $0.field.model.type == "time" } && self.chance(60)
        for (field, isStep) in given {
            let key = field.name
            if isStep {
                let amount = self.amount(field, isLast, left, event)
                add.append("\(Self.quoted(key)): \(Self.quoted(amount))")
                let isDown = self.chance(40) && !(isSigned && key == "n")
                words.append("\(key)\(isDown ? "-" : "+")=\(amount)")
            } else {
                if asks, field.model.type == "time", self.chance(80) {
                    words.append("\(key)={remaining}")
                    continue
                }
                let value = self.one(of: field.literals.filter { !asks || !$0.contains(" ") })
                data.append("\(Self.quoted(key)): \(Self.quoted(value))")
                words.append("\(key)=\(value)")
                if value.contains(" ") { isText = false }
            }
        }
        if asks { return Self.quoted(words.joined(separator: " ")) }
        if isText, self.chance(70) { return Self.quoted(words.joined(separator: " ")) }
        let maps = [("data", data), ("add", add)].filter { !$0.1.isEmpty }
            .map { ", \($0.0): {\($0.1.joined(separator: ", "))}" }
        return "{state: \(name)\(maps.joined())}"
    }

    private mutating func amount(
        _ field: Field,
        _ isLast: Bool,
        _ left: [Owner],
        _ event: Owner?
    ) -> String {
        let isInteger = field.model.type == "integer"
        let known = self.known(left, event).filter {
            $0.field.model.type == "integer" || !isInteger && $0.field.isNumeric
        }
        .filter { known in
            // The last case always holds.
            let name = known.field.name
            return !isLast
                || left.allSatisfy { $0.field(name)?.model.isOptional != true }
                    && event?.field(name)?.model.isOptional != true
        }
        if !known.isEmpty, self.chance(40) { return "{\(self.one(of: known).name)}" }
        return self.one(
            of: isInteger
                ? ["1", "1", "2", "-1", "0", "9007199254740993"]
                : ["0.5", "2.50", "1e3", "1", "-3"]
        )
    }

    // MARK: - Conditions

    /// The fields that conditions and steps may name, and how.
    private func known(_ left: [Owner], _ event: Owner?) -> [(name: String, field: Field)] {
        let ofEvent = (event?.fields ?? []).map { field in
            let isDouble = left.contains { $0.field(field.name) != nil }
            return (name: isDouble ? "event.\(field.name)" : field.name, field: field)
        }
        let shared = (left.first?.fields ?? []).filter { field in
            left.allSatisfy { $0.field(field.name)?.written == field.written }
        }
        let ofState = shared.map { field in
            let isDouble = event?.field(field.name) != nil
            return (name: isDouble ? "state.\(field.name)" : field.name, field: field)
        }
        return ofEvent + ofState
    }

    private mutating func conditions(_ left: [Owner], _ event: Owner?) -> [String] {
        let known = self.known(left, event)
        guard !known.isEmpty else { return [] }
        return (0..<self.one(of: [1, 1, 1, 2, 3])).map { _ in
            self.condition(self.one(of: known), known)
        }
    }

    private mutating func condition(
        _ subject: (name: String, field: Field),
        _ known: [(name: String, field: Field)]
    ) -> String {
        let (name, field) = subject
        let isPresence = field.model.isOptional || field.model.type == "boolean"
        if isPresence, self.chance(40) { return self.chance(50) ? name : "!\(name)" }
        let isOrdered = field.isNumeric || ["time", "instant"].contains(field.model.type)
        let sign = self.one(
            of: isOrdered ? ["=", "!=", "<", "<=", ">", ">="] : ["=", "!="]
        )
        let alike = known.filter {
            $0.field.model.type == field.model.type || $0.field.isNumeric && field.isNumeric
        }
        let space = self.one(of: ["", "", " "])
        if self.chance(35) { return "\(name)\(space)\(sign)\(space){\(self.one(of: alike).name)}" }
        let all = field.model.values.isEmpty ? Self.literals(field.model.type) : field.literals
        return
            "\(name)\(space)\(sign)\(space)\(self.one(of: self.chance(60) ? field.literals : all))"
    }

    // MARK: - Chance

    private mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self.random) < percent
    }

    private mutating func one<Item>(of items: [Item]) -> Item {
        items[Int.random(in: 0..<items.count, using: &self.random)]
    }

    private static func quoted(_ text: String) -> String { "\"\(text)\"" }
}

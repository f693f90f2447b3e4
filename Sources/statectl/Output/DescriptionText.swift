import StateMachineClient
import StateMachineCore

/// The reply to `describe` as text for people.
struct DescriptionText {
    let style: Style

    /// Several lines, without the last one's newline.
    func text(_ reply: Line) -> String {
        var sections: [String] = []
        sections.append(self.section("states", self.table(self.states(reply))))
        if let events = reply["events"]?.members, !events.isEmpty {
            sections.append(self.section("events", self.table(events.map(Self.event))))
        }
        if let groups = reply["groups"]?.members, !groups.isEmpty {
            sections.append(self.section("groups", self.table(groups.map(Self.group))))
        }
        if let breaker = reply["breaker"], let moves = breaker["moves"]?.shortText,
            let span = breaker["inMs"]?.integer
        {
            let line = "own moves are suspended after \(moves) within \(LineText.span(span / 1000))"
            sections.append(self.section("breaker", [line]))
        }
        let others: [(String, JSONValue?)] = [
            ("operations", reply["operations"]),
            ("limits", reply["limits"]),
        ]
        for (title, value) in others {
            guard let value else { continue }
            sections.append(self.section(title, self.lines(value)))
        }
        let version = reply["version"]?.shortText ?? "?"
        let number = reply["protocol"]?.shortText ?? "?"
        sections.append(self.style.text("version \(version), protocol \(number)", as: .aside))
        return sections.joined(separator: "\n\n")
    }

    private func section(_ title: String, _ lines: [String]) -> String {
        ([self.style.text(title, as: .label)] + lines.map { "  " + $0 }).joined(separator: "\n")
    }

    /// A row for each state: how it is written, and what may follow it.
    private func states(_ reply: Line) -> [(String, String)] {
        let initial = reply["initial"].flatMap { $0.string ?? $0["state"]?.string }
        return (reply["states"]?.elements ?? []).map { state in
            let name = state["state"]?.string ?? "?"
            let fields = Self.fields(state["fields"])
            let arguments = fields.isEmpty ? "" : "(\(fields.joined(separator: ", ")))"
            var remarks: [String] = []
            if name == initial { remarks.append("initial") }
            if let next = self.successors(of: name, in: reply) {
                remarks.append("→ \(next)")
            }
            return (name.printable + arguments, remarks.joined(separator: "; "))
        }
    }

    private static func event(_ event: JSONMember) -> (String, String) {
        let fields = Self.fields(event.value)
        let arguments = fields.isEmpty ? "" : "(\(fields.joined(separator: ", ")))"
        return (event.key.printable + arguments, "")
    }

    private static func group(_ group: JSONMember) -> (String, String) {
        let names = (group.value.elements ?? []).map(\.shortText)
        return (group.key.printable, names.joined(separator: ", "))
    }

    private static func fields(_ fields: JSONValue?) -> [String] {
        if let elements = fields?.elements {
            return elements.map { field in
                let name = ["field", "name", "key"].lazy.compactMap { field[$0]?.string }.first
                return self.field(name ?? "?", field)
            }
        }
        return (fields?.members ?? []).map { self.field($0.key, $0.value) }
    }

    /// A field and what it takes: `phase: idle|active|success|failure`, `value: boolean`.
    private static func field(_ name: String, _ field: JSONValue) -> String {
        let values = field["values"]?.elements ?? []
        let type = field["type"]?.shortText ?? field.shortText
        let kind = values.isEmpty ? type : values.map(\.shortText).joined(separator: "|")
        let isOptional = field["optional"]?.bool ?? false
        return "\(name.printable): \(kind)\(isOptional ? "?" : "")"
    }

    private func successors(of name: String, in reply: Line) -> String? {
        guard let next = reply["transitions"]?[name]?.elements else { return nil }
        if next.isEmpty { return "nothing" }
        let isAny = next.count == reply["states"]?.elements?.count
        return isAny ? "any" : next.map(\.shortText).joined(separator: ", ")
    }

    private func lines(_ value: JSONValue) -> [String] {
        if let members = value.members {
            return self.table(members.map { ($0.key.printable, $0.value.shortText) })
        }
        return [(value.elements ?? []).map(\.shortText).joined(separator: " ")]
    }

    private func table(_ rows: [(String, String)]) -> [String] {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { left, right in
            guard !right.isEmpty else { return left }
            return left.padded(to: width + 3) + self.style.text(right, as: .aside)
        }
    }
}

import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// The reply to `describe` as text for people.
struct DescriptionText {
    let style: Style

    /// Several lines, without the last one's newline; the operations and the limits only `withLimits`.
    func text(_ reply: Line, withLimits: Bool = false) -> String {
        var sections: [String] = []
        // Each state with its fields, moves and times, as "graph" lists them.
        if let drawing = Drawing(description: reply.value, ranges: true) {
            sections.append(drawing.text(as: .text))
        }
        if let events = reply["events"]?.members, !events.isEmpty {
            sections.append(self.section("events", events.map(Self.event)))
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
        if withLimits {
            for title in ["operations", "limits"] {
                guard let value = reply[title] else { continue }
                sections.append(self.section(title, self.lines(value)))
            }
        }
        let version = reply["version"]?.shortText ?? "?"
        let number = reply["protocol"]?.shortText ?? "?"
        let rest = withLimits ? "" : "; operations and limits: --limits"
        sections.append(
            self.style.text("version \(version), protocol \(number)\(rest)", as: .aside)
        )
        return sections.joined(separator: "\n\n")
    }

    private func section(_ title: String, _ lines: [String]) -> String {
        ([self.style.text(title, as: .label)] + lines.map { "  " + $0 }).joined(separator: "\n")
    }

    private static func event(_ event: JSONMember) -> String {
        let fields = (event.value.members ?? []).map {
            Drawing.line($0.key, $0.value, range: true)
        }
        return event.key.printable + (fields.isEmpty ? "" : "(\(fields.joined(separator: ", ")))")
    }

    private static func group(_ group: JSONMember) -> (String, String) {
        let names = (group.value.elements ?? []).map(\.shortText)
        return (group.key.printable, names.joined(separator: ", "))
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

import StateMachineClient

/// Reports that a state has lasted for long, as a protocol line: `{"type":"stuck","seq":…}`.
enum StuckLine {
    private static let type = "stuck"
    /// A reply's members that the line does not take over.
    private static let others = ["type", "ok", "error", "message", "matched"]

    /// The line, made from a reply that shows the state.
    static func of(_ reply: Line) -> Line? {
        guard let members = JSONValue(parsing: reply.text)?.members else { return nil }
        let shown = members.filter { !self.others.contains($0.key) }
        let object = JSONValue.object([JSONMember("type", .string(self.type))] + shown)
        return Line(Array(object.description.utf8))
    }

    static func isOne(_ line: Line) -> Bool { line.kind == .other(self.type) }
}

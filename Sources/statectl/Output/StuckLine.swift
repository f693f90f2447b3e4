import StateMachineClient

/// What tells that a state has lasted for long, in the shape of the protocol's lines: `{"type":"stuck","seq":…}`.
enum StuckLine {
    private static let type = "stuck"
    /// What else there is of an answer.
    private static let others = ["type", "ok", "error", "message", "matched"]

    /// The line, of an answer that shows the state.
    static func of(_ reply: Line) -> Line? {
        guard let members = JSONValue(parsing: reply.text)?.members else { return nil }
        let shown = members.filter { !self.others.contains($0.key) }
        let object = JSONValue.object([JSONMember("type", .string(self.type))] + shown)
        return Line(Array(object.description.utf8))
    }

    static func isOne(_ line: Line) -> Bool { line.kind == .other(self.type) }
}

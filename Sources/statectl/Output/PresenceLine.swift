import StateMachineClient

/// What is said of the daemon's going and coming where lines are the protocol's: a line of the same shape.
enum PresenceLine {
    /// `{"type":"gone","message":…}`.
    static func gone(_ error: ClientError) -> Line? {
        let members = [
            JSONMember("type", "gone"), JSONMember("message", .string(error.description)),
        ]
        return Line(Array(JSONValue.object(members).description.utf8))
    }

    /// `{"type":"back"}`.
    static let back = Line(Array(#"{"type":"back"}"#.utf8))
}

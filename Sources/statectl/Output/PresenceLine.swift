import StateMachineClient

/// Reports that the daemon is gone or back, in the form of a protocol line.
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

import StateMachineClient
import StateMachineCore

/// What a command that is run because of a line finds in its environment.
///
/// A variable that a line has nothing for is taken away, so that none is left from outside.
enum LineEnvironment {
    /// For a line of a watch; `resync` may come from a line that was passed over.
    static func watch(_ line: Line, resync: String?) -> [String: String?] {
        var variables = self.state(line)
        variables["STATEMACHINE_FROM"] = .some(line.from?.name)
        variables["STATEMACHINE_FROM_DATA"] = .some(line.from?.dataText)
        variables["STATEMACHINE_SEQ"] = .some(line.seq.map { String($0) })
        variables["STATEMACHINE_CURSOR"] = .some(line.cursor)
        variables["STATEMACHINE_RESYNC"] = .some(resync)
        return variables.mapValues { $0?.withoutNUL }
    }

    /// For a question to a guard.
    static func question(_ line: Line) -> [String: String?] {
        var variables = self.state(line)
        variables["STATEMACHINE_TO"] = .some(line.destination?.name)
        variables["STATEMACHINE_TO_DATA"] = .some(line.destination?.dataText)
        variables["STATEMACHINE_BY_UID"] = .some(line.by.map { String($0.uid) })
        variables["STATEMACHINE_BY_PID"] = .some(line.by.map { String($0.pid) })
        variables["STATEMACHINE_CAUSE"] = .some(line.cause)
        variables["STATEMACHINE_LEFT_MS"] = .some(line[.leftMs]?.description)
        return variables.mapValues { $0?.withoutNUL }
    }

    private static func state(_ line: Line) -> [String: String?] {
        ["STATEMACHINE_STATE": line.state?.name, "STATEMACHINE_DATA": line.state?.dataText]
    }
}

extension NamedState {
    /// The associated values as JSON.
    fileprivate var dataText: String { JSONValue.object(self.data).description }
}

extension String {
    /// NUL ends a variable; a text that has one must not lose the rest.
    fileprivate var withoutNUL: String { self.replacing("\0", with: "\u{FFFD}") }
}

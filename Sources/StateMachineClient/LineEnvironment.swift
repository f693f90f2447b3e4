import StateMachineCore
package import StateMachineProtocol

/// The environment of a command that is run because of a line.
///
/// A variable for which a line has no value is unset, so that none is inherited.
package enum LineEnvironment {
    /// For a line that a watch gives, or one of our own, and the event that it stands for; `resync`
    /// may come from a line that was skipped.
    package static func watch(
        _ line: Line,
        event: String? = nil,
        resync: String?
    ) -> [String: String?] {
        var variables = self.state(line.state).merging(self.from(line.from)) { $1 }
        variables["STATEMACHINE_EVENT"] = .some(event)
        variables["STATEMACHINE_AT"] = .some(line[.at]?.string)
        variables.merge(self.origin(line)) { $1 }
        variables["STATEMACHINE_SEQ"] = .some(line.seq.map { String($0) })
        variables["STATEMACHINE_CURSOR"] = .some(line.cursor)
        variables["STATEMACHINE_RESYNC"] = .some(resync)
        return variables.mapValues { $0?.withoutNUL }
    }

    /// For a question to a guard.
    package static func question(_ line: Line) -> [String: String?] {
        var variables = self.state(line.state)
        variables["STATEMACHINE_TO"] = .some(line.destination?.name)
        variables["STATEMACHINE_TO_DATA"] = .some(line.destination?.dataText)
        variables.merge(self.origin(line)) { $1 }
        variables["STATEMACHINE_LEFT_MS"] = .some(line[.leftMs]?.description)
        return variables.mapValues { $0?.withoutNUL }
    }

    /// Who asked for it, and why.
    private static func origin(_ line: Line) -> [String: String?] {
        [
            "STATEMACHINE_BY_HOST": line[.by]?["host"]?.string,
            "STATEMACHINE_BY_UID": line.by.map { String($0.uid) },
            "STATEMACHINE_BY_PID": line.by.map { String($0.pid) },
            "STATEMACHINE_BY_COMM": line.by?.comm,
            "STATEMACHINE_BY_UNIT": line.by?.unit,
            "STATEMACHINE_CAUSE": line.cause,
        ]
    }

    /// For the present state.
    package static func state(_ state: NamedState?) -> [String: String?] {
        ["STATEMACHINE_STATE": state?.name, "STATEMACHINE_DATA": state?.dataText.withoutNUL]
    }

    /// For the state that was left.
    package static func from(_ state: NamedState?) -> [String: String?] {
        ["STATEMACHINE_FROM": state?.name, "STATEMACHINE_FROM_DATA": state?.dataText.withoutNUL]
    }
}

extension NamedState {
    /// The associated values as JSON.
    fileprivate var dataText: String { JSONValue.object(self.data).description }
}

extension String {
    /// Replaces NULs, which would end a variable or an argument and lose the rest of the text.
    package var withoutNUL: String { self.replacing("\0", with: "\u{FFFD}") }
}

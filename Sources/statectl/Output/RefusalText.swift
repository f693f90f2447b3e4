import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// A daemon's refusal in one sentence for people.
struct RefusalText {
    let text: LineText

    func sentence(_ reply: Line) -> String {
        let denial = reply.error == .denied ? self.denial(reply) : nil
        return denial ?? self.localized(ClientError.refused(reply).description).printable
    }

    /// Who said no: `denied by hold 1 of root (4711): backup runs; and 3 more`.
    private func denial(_ reply: Line) -> String? {
        guard let rows = reply["by"]?.elements, !rows.isEmpty else { return nil }
        let more = reply["more"]?.integer.map { ["and \($0) more"] } ?? []
        return "denied by " + (rows.map(self.voter) + more).joined(separator: "; ")
    }

    private func voter(_ row: JSONValue) -> String {
        let names = ["hold", "guard"].compactMap { kind in
            row[kind].map { "\(kind) \($0.shortText)" }
        }
        let name = names.first ?? row["delegate"]?.string?.printable ?? "?"
        if let absence = self.absence(row, name) { return absence }
        let why = row["why"]?.string ?? ""
        let named = row["as"]?.string.map { ", taken as \($0.printable)" } ?? ""
        let away = row["away"]?.bool == true ? ", whose client is away" : ""
        return name + self.origin(row) + named + away + (why.isEmpty ? "" : ": \(why.printable)")
    }

    /// For a required guard that is not connected: which, since when, and what to do.
    private func absence(_ row: JSONValue, _ name: String) -> String? {
        guard let required = row["required"]?.string?.printable,
            let since = row["missing"]?.string
        else { return nil }
        return "\(name)\(self.origin(row)), required as \(required) and not connected since "
            + self.localized(since.printable)
            + "; have it run, or: statectl release --required \(required)"
    }

    /// Whose vote it is, unless it is the daemon's own.
    private func origin(_ row: JSONValue) -> String {
        guard row["delegate"] == nil, row["uid"] != nil else { return "" }
        return " of \(self.text.peer(row))"
    }

    /// The sentence with the protocol's times in local time.
    private func localized(_ sentence: String) -> String {
        sentence.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let hasEnd = word.last.map { [";", ",", "."].contains($0) } ?? false
            let time = WallTime(rfc3339: hasEnd ? word.dropLast() : word).flatMap(self.text.clock)
            return time.map { hasEnd ? $0 + String(word.suffix(1)) : $0 } ?? String(word)
        }
        .joined(separator: " ")
    }
}

/// A daemon's refusal, which ends a command.
struct Refusal: Error {
    let sentence: String
    let status: ExitStatus
}

/// When commands that fail are tried again, for people.
enum RetryText {
    /// A line for each command that is tried again.
    static func lines(of declaration: Declaration) -> [String] {
        declaration.states.flatMap { state in
            let commands =
                [
                    ("run", state.run.map { [$0.command] } ?? []), ("enter", state.enter),
                    ("leave", state.leave),
                ]
            return commands.flatMap { kind, commands in
                commands.compactMap { command in
                    command.retry.map {
                        "\(state.name), \(kind) \(command.written): tried again \($0.schedule)"
                    }
                }
            }
        }
    }
}

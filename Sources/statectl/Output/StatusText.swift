import StateMachineClient
import StateMachineCore

/// A machine, its holds and guards, its watchers and what runs in it, as text for people: a line
/// for each thing, with its label before it.
struct StatusText {
    /// How many watchers are named.
    ///
    /// 10: more are a crowd, and are counted.
    private static let watchersShown = 10

    let text: LineText

    /// Several lines, without the last one's newline.
    func text(_ status: MachineStatus) -> String {
        let rows = self.rows(status)
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, parts in
            let label = StyledText(name.padded(to: width), as: .label)
            return self.text.wrapped([label] + parts, indent: width + 3)
        }
        .joined(separator: "\n")
    }

    /// The label of each thing, and its parts.
    func rows(_ status: MachineStatus) -> [(String, [StyledText])] {
        let runner = status.runner
        var rows = [("state", self.text.parts(of: status.state))]
        let voters = VoterText(text: self.text)
        rows += status.holds.map { ("held", voters.parts($0)) }
        rows += status.guards.map { ("guarded", voters.parts($0)) }
        if let others = status.stats["more"]?.integer {
            rows.append(("", [StyledText("and \(others) more holds and guards", as: .aside)]))
        }
        rows += self.watching(status.watching).map { ("watching", $0) }
        if let running = runner?.json["running"] {
            rows.append(("running", [StyledText(self.command(running, "since", "for"))]))
        }
        if let waiting = runner?.waiting(status.state) {
            let changes = waiting == 1 ? "1 change" : "\(waiting) changes"
            rows.append(("waiting", [StyledText("the hooks of \(changes)")]))
        }
        if let blocked = runner?.json["blocked"]?.string {
            let text = "nothing is started: \(blocked.printable)"
            rows.append(("blocked", [StyledText(text, as: .notice)]))
        }
        if let next = runner?.json["next"] {
            rows.append(("next", [StyledText(self.command(next, "at", "in"))]))
        }
        if let failure = runner?.json["lastFailure"] {
            let end = Self.end(failure["end"]?.string ?? "?")
            rows.append(("failed", [StyledText("\(self.command(failure, "at", nil)): \(end)")]))
        }
        if runner != nil || status.hasCommands {
            rows.append(("runner", [self.runner(runner)]))
        }
        return rows
    }

    /// How a command ended; EXIT_EXEC of systemd.exec(5) is not the command's own status.
    private static func end(_ text: String) -> String {
        text == "exit 203" ? "could not be started (203)" : text.printable
    }

    /// The watchers, the slowest first.
    private func watching(_ rows: [JSONValue]) -> [[StyledText]] {
        func lag(_ row: JSONValue) -> Int64 { row["lag"]?.integer ?? 0 }
        let sorted = rows.sorted { lag($0) > lag($1) }
        var shown = sorted.prefix(Self.watchersShown).map { row in
            let place = lag(row) == 0 ? "up to date" : "\(lag(row)) behind"
            return [StyledText(self.text.livePeer(row)), StyledText(place, as: .aside)]
        }
        if sorted.count > shown.count {
            let others = "and \(sorted.count - shown.count) others"
            shown.append([StyledText(others, as: .aside)])
        }
        return shown
    }

    private func runner(_ runner: RunnerState?) -> StyledText {
        guard let runner else { return StyledText("none; no command is run", as: .aside) }
        let pid = runner.json["pid"]?.shortText ?? "?"
        guard runner.isThere else {
            return StyledText(
                "ended without a word (pid \(pid)); this is what it last reported",
                as: .notice
            )
        }
        return StyledText("pid \(pid)", as: .aside)
    }

    /// `working run, attempt 2, for 12 s`; if the word is nil, how long ago.
    private func command(_ json: JSONValue, _ key: String, _ word: String?) -> String {
        var parts = [
            [json["state"], json["key"]].map { $0?.string?.printable ?? "?" }.joined(
                separator: " "
            ),
            "attempt \(json["attempt"]?.shortText ?? "?")",
        ]
        if let time = json[key]?.string.flatMap({ WallTime(rfc3339: $0) }) {
            let left = LineText.seconds(until: time, at: self.text.now)
            if word == "in" {
                parts.append("in \(LineText.span(max(0, left), roundingUp: true))")
            } else if let word {
                parts.append("\(word) \(LineText.span(max(0, -left)))")
            } else {
                parts.append(LineText.age(of: time, at: self.text.now))
            }
        }
        return parts.joined(separator: ", ")
    }
}

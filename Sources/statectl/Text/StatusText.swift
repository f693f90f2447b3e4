import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

// A machine, its holds and guards, its watchers and what runs in it, as text for people: a line
// for each thing, with its label before it.
extension LineText {
    /// How many watchers are named.
    ///
    /// 10: more are a crowd, and are counted.
    private static let watchersShown = 10

    /// Several lines, without the last one's newline.
    func status(_ status: MachineStatus) -> String {
        self.rows(of: status).map { self.wrapped($0, indent: $0[0].columns + 3) }
            .joined(separator: "\n")
    }

    /// The label of each thing, all of one width, and its parts.
    func rows(of status: MachineStatus) -> [[StyledText]] {
        let runner = status.runner
        var rows = [("state", self.parts(of: status.state, mark: status.mark))]
        if let hosts = status.hosts { rows.append(("shared", self.sharing(hosts))) }
        rows += status.links.map { ("sees", self.link($0)) }
        rows += status.holds.map { ("held", self.voter($0)) }
        rows += status.guards.map { ("guarded", self.voter($0)) }
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
            let row = failure["interruptions"]?.integer.map { " \($0) times in a row" } ?? ""
            let end = Self.end(failure["end"]?.string ?? "?") + row
            rows.append(("failed", [StyledText("\(self.command(failure, "at", nil)): \(end)")]))
        }
        for left in runner?.json["left"]?.elements ?? [] {
            let pid = left["pid"].map { " (pid \($0.shortText))" } ?? ""
            let (command, why) = (left["command"]?.string ?? "?", left["why"]?.string ?? "?")
            let text = "\(command)\(pid) cannot be killed: \(why)".printable
            rows.append(("left", [StyledText(text, as: .notice)]))
        }
        if runner != nil || status.hasCommands { rows.append(("runner", [self.runner(runner)])) }
        rows += self.possible(status)
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { [StyledText($0.padded(to: width), as: .label)] + $1 }
    }

    /// What can be sent and set now, and what is against the rest, each reason once.
    private func possible(_ status: MachineStatus) -> [(String, [StyledText])] {
        guard !status.isReader else {
            return [("can", [StyledText("only read: control.sock is not open to you", as: .aside)])]
        }
        var (rows, obstacles) = ([(String, [StyledText])](), [(why: String, what: String)]())
        for (operation, kind) in [("send", "event"), ("set", "state")] {
            var can: [StyledText] = []
            for row in status.state["possible"]?[operation]?.elements ?? [] {
                let name = row[kind]?.string?.printable ?? "?"
                guard row["ok"]?.bool == true else {
                    let why = Self.obstacle(row)
                    if let index = obstacles.firstIndex(where: {
                        $0.why == why && $0.what.hasPrefix(operation)
                    }) {
                        obstacles[index].what += ", \(name)"
                    } else {
                        obstacles.append((why, "\(operation) \(name)"))
                    }
                    continue
                }
                let needs = Self.words(row["needs"]).map { " \($0)=…" }.joined()
                let targets = Self.words(row["to"]).joined(separator: " or ")
                can.append(StyledText(name + needs + (targets.isEmpty ? "" : " → \(targets)")))
            }
            if !can.isEmpty { rows.append(("can \(operation)", can)) }
        }
        return rows
            + obstacles.map { ("cannot", [StyledText($0.what), StyledText($0.why, as: .aside)]) }
    }

    /// Who or what is against something.
    private static func obstacle(_ row: JSONValue) -> String {
        let unmet = Self.words(row["unmet"]).joined(separator: ", ")
        let why =
            switch (row["error"]?.string, row["handled"]?.bool) {
            case ("illegal-transition", _): "not from here"
            case ("forbidden", _):
                "only root\(Self.words(row["may"]).filter { $0 != "root" }.map { ", \($0)" }.joined())"
            case ("denied", _) where row["by"] != nil:
                "denied by \(Self.deniers(row["by"]?.elements ?? []))"
            case (nil, true): "changes nothing here"
            case (nil, _): "not handled here"
            case (_?, _): row["message"]?.string?.printable ?? "?"
            }
        guard !unmet.isEmpty else { return why }
        // What keeps from the last way does not come of what keeps from those before it.
        return row["by"] == nil ? "\(why): \(unmet)" : "\(why); passed over: \(unmet)"
    }

    /// Voters by their names, or else their numbers.
    private static func deniers(_ rows: [JSONValue]) -> String {
        rows.map { row in
            let kind = row["hold"] == nil ? "guard" : "hold"
            let name = (row["as"] ?? row["required"])?.string ?? row[kind]?.shortText ?? "?"
            let why = row["why"]?.string.map { " (\($0))" } ?? ""
            return row["delegate"]?.string?.printable ?? "\(kind) \(name)\(why)".printable
        }
        .joined(separator: ", ")
    }

    private static func words(_ list: JSONValue?) -> [String] {
        (list?.elements ?? []).map { $0.string?.printable ?? $0.description }
    }

    /// `water empty`, or what is to be said of it.
    private func link(_ row: JSONValue) -> [StyledText] {
        let name = row["link"]?.string?.printable ?? "?"
        var parts = [StyledText(name)]
        if let why = row["why"]?.string {
            parts.append(StyledText("cannot be seen: \(why.printable)", as: .notice))
        } else {
            let state = StateText.text(
                name: row["state"]?.string ?? "?",
                data: row["data"] ?? .object([])
            )
            parts.append(StyledText(state.printable, as: .state))
        }
        parts += (row["pending"]?.elements ?? []).map {
            StyledText("\($0.plainText.printable) was denied, and waits", as: .notice)
        }
        parts += (row["lacks"]?.elements ?? []).map {
            StyledText($0.plainText.printable, as: .notice)
        }
        return parts
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
            return [StyledText(self.peer(row)), StyledText(place, as: .aside)]
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
                "ended without saying so (pid \(pid)); this is its last report",
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
        if let count = json["interruptions"]?.integer, json["end"] == nil {
            parts.append(count == 1 ? "interrupted once" : "interrupted \(count) times in a row")
        }
        if let time = json[key]?.string.flatMap({ WallTime(rfc3339: $0) }) {
            let left = LineText.seconds(until: time, at: self.now)
            if word == "in" {
                parts.append("in \(LineText.span(max(0, left), roundingUp: true))")
            } else if let word {
                parts.append("\(word) \(LineText.span(max(0, -left)))")
            } else {
                parts.append(LineText.age(of: time, at: self.now))
            }
        }
        return parts.joined(separator: ", ")
    }
}

// A hold or a guard as text for people, from a row of the reply to `stats`.
extension LineText {
    /// `ready`, `hold 7 by root (812, deploy), for 3 min` and `backup runs`.
    func voter(_ row: JSONValue) -> [StyledText] {
        let patterns = (row["before"]?.elements ?? []).map { $0.string ?? $0.description }
        let others = row["more"]?.integer.map { ["and \($0) more"] } ?? []
        let states = (patterns + others).joined(separator: ", ").printable
        var parts = [StyledText(states, as: .state), StyledText(self.who(row), as: .aside)]
        if let why = row["why"]?.string { parts.append(StyledText(why.printable)) }
        return parts
    }

    private func who(_ row: JSONValue) -> String {
        if let missing = row["missing"]?.string { return self.absence(row, missing) }
        let hold = row["hold"]
        let number = (hold ?? row["guard"])?.shortText ?? "?"
        var words = "\(hold == nil ? "guard" : "hold") \(number) by \(self.peer(row))"
        if let at = row["at"]?.string.flatMap({ WallTime(rfc3339: $0) }) {
            let seconds = (self.now.microseconds - at.microseconds) / 1_000_000
            words += ", for \(LineText.span(max(0, seconds)))"
        }
        let required = row["required"]?.string.map { ", required as \($0.printable)" } ?? ""
        let named = row["as"]?.string.map { ", as \($0.printable)" } ?? ""
        let end = row["until"]?.string.flatMap { WallTime(rfc3339: $0) }.flatMap(self.second)
        let until = end.map { ", until \($0)" } ?? ""
        let away =
            (row["away"]?.bool == true ? ", whose client is away" : "")
            + (row["void"]?.bool == true ? ", without effect: there is no such state now" : "")
        return words + required + named + until + away + self.terms(row) + self.votes(row)
    }

    /// `denied: guard 7, required as display, has been gone for 3 min; last by kiosk (812)`.
    private func absence(_ row: JSONValue, _ missing: String) -> String {
        let name = row["required"]?.string?.printable ?? "?"
        let number = row["guard"]?.shortText ?? "?"
        let time = WallTime(rfc3339: missing)
        let span = time.map { (self.now.microseconds - $0.microseconds) / 1_000_000 }
        let gone = span.map { "has been gone for \(LineText.span(max(0, $0)))" } ?? "is gone"
        return "denied: guard \(number), required as \(name), \(gone); last by \(self.peer(row))"
    }

    /// How a guard has voted.
    private func votes(_ row: JSONValue) -> String {
        let counts = [("allowed", row["allowed"]), ("denied", row["denied"])].compactMap {
            word,
            count in
            count?.integer.flatMap { $0 > 0 ? "\(word) \($0)" : nil }
        }
        let isAsked = row["isAsked"]?.bool == true ? ["is asked now"] : []
        return (counts + isAsked).map { ", \($0)" }.joined()
    }

    /// What differs from the usual.
    private func terms(_ row: JSONValue) -> String {
        switch (row["mode"]?.string, row["onTimeout"]?.string) {
        case ("delay", _): ", delays \(row["maxMs"]?.shortText ?? "?") ms at most"
        case (_, "deny"): ", denies if silent for \(row["timeoutMs"]?.shortText ?? "?") ms"
        default: ""
        }
    }
}

// The reply to `stats` as text for people.
extension LineText {
    private static let columns = ["watches", "waits", "holds", "guards", "lag", "resyncs", "bytes"]
    /// The columns in the order in which they are left out.
    private static let leastFirst = ["bytes", "resyncs", "waits", "guards", "holds", "watches"]
    private static let names = [
        "accepted": "connections accepted", "turnedAway": "connections turned away",
        "bytes": "bytes sent",
    ]

    /// Several lines, without the last one's newline.
    func stats(_ reply: Line) -> String {
        var lines = self.connections(reply["connections"]?.elements ?? [])
        lines += self.voters(reply)
        let counters = (reply["counters"]?.members ?? []).map { member in
            (Self.names[member.key] ?? member.key.printable, member.value.shortText)
        }
        let width = counters.map(\.0.count).max() ?? 0
        let digits = counters.map(\.1.count).max() ?? 0
        lines.append("")
        for (name, value) in counters {
            let padding = String(repeating: " ", count: digits - value.count)
            let label = self.style.text(name.padded(to: width), as: .label)
            lines.append("\(label)   \(padding)\(value)")
        }
        lines.append("")
        lines.append(self.style.text(self.age(reply), as: .aside))
        return lines.joined(separator: "\n")
    }

    /// The connections; if there is no room for all columns, those that say least are left out.
    private func connections(_ rows: [JSONValue], omitting omitted: Int = 0) -> [String] {
        let columns = Self.columns.filter { !Self.leastFirst.prefix(omitted).contains($0) }
        let cells = rows.map { row in
            [self.process(row), row["door"]?.shortText ?? "?"]
                + columns.map { row[$0]?.shortText ?? "?" }
        }
        let table = [["who", "door"] + columns] + cells
        let lines = table.lines(names: [0, 1])
        if omitted < Self.leastFirst.count, lines[0].columns > self.width ?? .max {
            return self.connections(rows, omitting: omitted + 1)
        }
        return [self.style.text(lines[0], as: .label)] + lines.dropFirst()
    }

    /// The holds and guards, if there are any.
    private func voters(_ reply: Line) -> [String] {
        let rows = (reply["holds"]?.elements ?? []) + (reply["guards"]?.elements ?? [])
        guard !rows.isEmpty else { return [] }
        let others = reply["more"]?.integer.map { ["and \($0) more"] } ?? []
        return [""] + rows.map { self.wrapped(self.voter($0)) } + others
    }

    private func age(_ reply: Line) -> String {
        let seconds = (reply["uptimeMs"]?.integer ?? 0) / 1000
        return "up \(LineText.span(seconds)), #\(reply.number)"
    }
}

// The machines as text for people, a line each.
extension LineText {
    /// Several lines, without the last one's newline.
    func machines(_ rows: [MachineRow]) -> String {
        let names = rows.map { $0.instance.name?.printable ?? MachineMark.unnamed }
        let machines = rows.map { row in
            // What does not answer has not said what it is called.
            row.machine?.printable ?? (row.report == nil ? "" : MachineMark.unnamed)
        }
        let widths = [names, machines].map { column in column.map(\.count).max() ?? 0 }
        let parts = rows.map { $0.report.map { self.parts(of: $0) } }
        let state = [StyledText].firstColumn(parts.compactMap(\.self), in: self.width)
        return rows.indices.map { index in
            let row = rows[index]
            let start = [
                StyledText(names[index].padded(to: widths[0])),
                StyledText(machines[index].padded(to: widths[1])),
            ]
            let rest =
                parts[index].map { [$0[0].padded(to: state)] + $0.dropFirst() }
                ?? [StyledText((row.error ?? "?").printable, as: .notice)]
            let place = StyledText(row.instance.directory.path.printable, as: .aside)
            return self.wrapped(start + rest + [place], indent: widths[0] + 3)
        }
        .joined(separator: "\n")
    }
}

/// The reply to `describe` as text for people.
struct DescriptionText {
    let style: Style

    /// Several lines, without the last one's newline; the operations and the limits only `withLimits`.
    func text(_ reply: Line, withLimits: Bool = false) -> String {
        var sections: [String] = []
        // Each state with its fields, moves and times, as "graph" lists them.
        if let drawing = Drawing(description: reply.value, ranges: true) {
            sections.append(drawing.plainText)
        }
        if let events = reply["events"]?.members, !events.isEmpty {
            sections.append(self.section("events", events.map(Self.event)))
        }
        if let rights = reply["rights"] {
            sections.append(self.section("who may", self.table(Self.rights(rights))))
        }
        if let groups = reply["groups"]?.members, !groups.isEmpty {
            sections.append(self.section("groups", self.table(groups.map(Self.group))))
        }
        if let breaker = reply["breaker"] {
            sections.append(self.section("breaker", [LineText.suspension(breaker)]))
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
        let fields = (event.value.members ?? []).map { Drawing.line($0.key, $0.value, range: true) }
        return event.key.printable + (fields.isEmpty ? "" : "(\(fields.joined(separator: ", ")))")
    }

    /// For each state, event and all others who may, besides root and the daemon's own user.
    private static func rights(_ rights: JSONValue) -> [(String, String)] {
        func row(_ what: String, _ names: JSONValue) -> (String, String) {
            let names = (names.elements ?? []).compactMap { $0.string?.printable }
            return (what, names.isEmpty ? "root" : names.joined(separator: ", "))
        }
        let states = (rights["states"]?.members ?? []).map {
            row("set, update \($0.key)", $0.value)
        }
        let events = (rights["events"]?.members ?? []).map { row("send \($0.key)", $0.value) }
        return states + events + [rights["by"].map { row("all else", $0) } ?? ("all else", "any")]
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

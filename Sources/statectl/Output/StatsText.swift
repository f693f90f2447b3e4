import StateMachineClient
import StateMachineCore

/// The reply to `stats` as text for people.
struct StatsText {
    private static let columns = [
        "watches", "waits", "holds", "guards", "lag", "resyncs", "bytes",
    ]
    /// The columns in the order in which they are left out.
    private static let leastFirst = [
        "bytes", "resyncs", "waits", "guards", "holds", "watches",
    ]
    private static let names = [
        "accepted": "connections accepted", "turnedAway": "connections turned away",
        "bytes": "bytes sent",
    ]

    let text: LineText

    private var style: Style { self.text.style }

    /// Several lines, without the last one's newline.
    func text(_ reply: Line) -> String {
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

    private func connections(_ rows: [JSONValue]) -> [String] {
        var columns = Self.columns
        var (cells, widths) = ([[String]](), [Int]())
        var head: [String] = []
        repeat {
            head = ["who", "door"] + columns
            cells = rows.map { row in
                [self.text.process(row), row["door"]?.shortText ?? "?"]
                    + columns.map { row[$0]?.shortText ?? "?" }
            }
            widths = head.indices.map { column in
                ([head] + cells).map { $0[column].columns }.max() ?? 0
            }
            // If there is no room for all, those that say least are left out.
            guard let width = self.text.width, widths.reduce(0, { $0 + $1 + 2 }) - 2 > width,
                let least = Self.leastFirst.first(where: columns.contains)
            else { break }
            columns.removeAll { $0 == least }
        } while true
        func line(_ cells: [String]) -> String {
            cells.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.columns)
                // Names begin in one column, numbers end in one.
                return column < 2 ? cell + padding : padding + cell
            }.joined(separator: "  ")
        }
        return [self.style.text(line(head), as: .label)] + cells.map(line)
    }

    /// The holds and guards, if there are any.
    private func voters(_ reply: Line) -> [String] {
        let rows = (reply["holds"]?.elements ?? []) + (reply["guards"]?.elements ?? [])
        guard !rows.isEmpty else { return [] }
        let others = reply["more"]?.integer.map { ["and \($0) more"] } ?? []
        return [""] + rows.map { self.text.wrapped(VoterText(text: self.text).parts($0)) } + others
    }

    private func age(_ reply: Line) -> String {
        let seconds = (reply["uptimeMs"]?.integer ?? 0) / 1000
        return "up \(LineText.span(seconds)), #\(reply.seq.map(String.init) ?? "?")"
    }
}

/// The machines as text for people, a line each.
struct MachinesText {
    let text: LineText

    /// Several lines, without the last one's newline.
    func text(_ rows: [MachineRow]) -> String {
        let names = rows.map { $0.instance.name?.printable ?? MachineMark.unnamed }
        let machines = rows.map { $0.machine?.printable ?? MachineMark.unnamed }
        let widths = [names, machines].map { column in column.map(\.count).max() ?? 0 }
        let parts = rows.map { $0.report.map { self.text.parts(of: $0) } }
        let state = [StyledText].firstColumn(parts.compactMap(\.self), in: self.text.width)
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
            return self.text.wrapped(start + rest + [place], indent: widths[0] + 3)
        }
        .joined(separator: "\n")
    }
}

import StateMachineClient
import StateMachineCore

// The hosts that share a machine as text for people, from the reply to `hosts`.
extension LineText {
    /// From which difference on clocks are said to differ, in milliseconds.
    ///
    /// A second: deadlines of a shared machine go by the wall clock.
    private static let clockLimit: Int64 = 1000

    /// A table, without the last newline.
    func hosts(_ reply: Line) -> String {
        let rows = reply["hosts"]?.elements ?? []
        let names = ["host", "version", "seq", "behind", "session", "clock"]
        let cells = rows.map { row in
            [
                row["host"]?.string?.printable ?? "?", row["version"]?.string?.printable ?? "?",
                row["seq"]?.shortText ?? "?", row["lag"]?.shortText ?? "?",
                row["session"]?.string?.printable ?? "?", Self.clock(row),
            ]
        }
        let table = ([names] + cells).lines(names: [0, 1, 4])
        var lines = [self.style.text(table[0], as: .label)]
        for (row, line) in zip(rows, table.dropFirst()) {
            let notes = self.remarks(on: row, beside: rows)
            lines.append(
                ([line] + notes.map { self.style.text($0, as: .notice) })
                    .joined(separator: "  ")
            )
        }
        if let age = Self.staleness(reply) {
            lines.append(
                self.style.text("— as it was \(age) ago: no quorum has answered", as: .notice)
            )
        }
        return lines.joined(separator: "\n")
    }

    /// Which other hosts share the machine, and what is to be said of them, for `status`.
    func sharing(_ reply: Line) -> [StyledText] {
        let rows = reply["hosts"]?.elements ?? []
        func name(_ row: JSONValue) -> String { row["host"]?.string?.printable ?? "?" }
        let others = rows.filter { $0["here"]?.bool != true }
        var parts = [StyledText(rows.first { $0["here"]?.bool == true }.map(name) ?? "here")]
        let text =
            others.isEmpty ? "no other host" : "with \(others.map(name).joined(separator: ", "))"
        parts.append(StyledText(text, as: .aside))
        for row in others {
            parts += self.remarks(on: row, beside: rows).map {
                StyledText("\(name(row)): \($0)", as: .notice)
            }
        }
        return parts
    }

    /// How far the host's clock is ahead, or that it is the one that all are compared with.
    private static func clock(_ row: JSONValue) -> String {
        if row["here"]?.bool == true { return "here" }
        guard let ahead = row["offset"]?.integer else { return "-" }
        return "\(ahead < 0 ? "-" : "+")\(SpanText.text(Int64(ahead.magnitude) * 1000))"
    }

    private func remarks(on row: JSONValue, beside rows: [JSONValue]) -> [String] {
        guard let here = rows.first(where: { $0["here"]?.bool == true }) else { return [] }
        var remarks: [String] = []
        if row["form"] != here["form"] {
            remarks.append("its file has other states")
        } else if row["declaration"] != here["declaration"] {
            remarks.append("its file differs")
        }
        if let ahead = row["offset"]?.integer, ahead.magnitude > Self.clockLimit {
            remarks.append("its clock differs; is NTP running?")
        }
        return remarks
    }
}

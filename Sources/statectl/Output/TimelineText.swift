import StateMachineCore

/// A span of the past as text for people: a band for each state, the time below them, and a table.
///
/// In a band, each character's height is the state's share of the time of its column.
struct TimelineText {
    /// The columns if the output has no width of its own.
    ///
    /// 80: the width of a mail or a page of a manual.
    private static let columns = 80
    /// From nothing to all.
    private static let blocks = Array(" ▁▂▃▄▅▆▇█")

    let text: LineText
    let isUTC: Bool

    private var width: Int { max(24, self.text.width ?? Self.columns) }

    /// Several lines, without the last one's newline.
    func text(_ span: PastSpan) -> String {
        let rows = span.summaries()
        let names = rows.map { StyledText($0.name.printable, as: .state) }
        let label = min(names.map(\.columns).max() ?? 0, self.width / 4)
        let bands = self.bands(span, names, label)
        let lines =
            self.title(span) + [StyledText()] + bands + [StyledText()] + self.table(rows, label)
        return lines.map { $0.cut(to: self.width).text(self.text.style) }.joined(separator: "\n")
    }

    private func title(_ span: PastSpan) -> [StyledText] {
        let changes = span.stays.changes
        let ends = [span.start, span.end].map { self.moment($0) }
        // The second date is shown only if it differs.
        let isSameDay = ends[0]?.date == ends[1]?.date
        let from = ends[0].map { "\($0.date) \($0.time.prefix(8))" } ?? "?"
        let to = ends[1].map {
            isSameDay ? "\($0.time.prefix(8))" : "\($0.date) \($0.time.prefix(8))"
        }
        let zone = self.isUTC ? " UTC" : ""
        return [
            StyledText("\(from) – \(to ?? "?")\(zone)"),
            StyledText(SpanText.text(span.end - span.start), as: .aside),
            StyledText(changes == 1 ? "1 change" : "\(changes) changes", as: .aside),
        ]
        .wrapped(separator: "   ", to: self.width, indent: 0)
    }

    private func moment(_ microseconds: Int64) -> LocalTime? {
        LocalTime(WallTime(microseconds: microseconds), inUTC: self.isUTC)
    }

    // MARK: - Bands

    private func bands(_ span: PastSpan, _ names: [StyledText], _ label: Int) -> [StyledText] {
        let columns = self.width - label - 2
        let shares = span.shares(columns: columns)
        let bands = zip(names, shares).map { name, row in
            name.cut(to: label).padded(to: label + 2) + StyledText(String(row.map(Self.block)))
        }
        let axis = StyledText(self.axis(span, columns), as: .aside)
        return bands + [StyledText(String(repeating: " ", count: label + 2)) + axis]
    }

    /// Any share above zero shows at least an eighth, and only a full share fills the block.
    private static func block(_ share: Double) -> Character {
        guard share > 0 else { return self.blocks[0] }
        let eighths = Int((share * 8).rounded())
        return self.blocks[share > 0.999 ? 8 : min(max(eighths, 1), 7)]
    }

    private func axis(_ span: PastSpan, _ columns: Int) -> String {
        let axis = TimeAxis(start: span.start, end: span.end, isUTC: self.isUTC)
        var line = [Character](repeating: " ", count: columns)
        var free = 0
        // Ten columns: the longest label, its mark and a space.
        for mark in axis.marks(atMost: max(1, columns / 10)) {
            let share = Double(mark.time - span.start) / Double(span.end - span.start)
            let column = min(Int(share * Double(columns)), columns - 1)
            let text = "╵" + mark.label
            guard column >= free, column + text.count <= columns else { continue }
            for (index, character) in text.enumerated() { line[column + index] = character }
            free = column + text.count + 1
        }
        return String(line)
    }

    // MARK: - The table

    private func table(_ rows: [StateSummary], _ label: Int) -> [StyledText] {
        var columns = [
            ["share"] + rows.map { SpanText.percent($0.share) },
            ["entered"] + rows.map { "\($0.entered)" },
            ["median"] + rows.map { row in row.median.map { SpanText.text($0) } ?? "–" },
            ["longest"] + rows.map { SpanText.text($0.longest) },
        ]
        // If there is no room for all of them, the last ones are left out.
        func widths() -> [Int] { columns.map { column in column.map(\.columns).max() ?? 0 } }
        while columns.count > 1, widths().reduce(5, { $0 + $1 + 1 }) > self.width {
            columns.removeLast()
        }
        let widths = widths()
        // Two spaces between them, or one where there is no room.
        let room = self.width - max(label, 5) - widths.reduce(0, +)
        let gap = room >= 2 * widths.count ? 2 : 1
        let name = min(max(label, 5), max(5, self.width - widths.reduce(0, +) - gap * widths.count))
        let first =
            [StyledText("state", as: .label)]
            + rows.map { StyledText($0.name.printable, as: .state) }
        return first.indices.map { index in
            zip(columns, widths).reduce(first[index].cut(to: name).padded(to: name)) {
                line,
                column in
                let (cell, width) = (column.0[index], column.1)
                let space = String(repeating: " ", count: gap + width - cell.columns)
                return line + StyledText(space + cell, as: index == 0 ? .label : nil)
            }
        }
    }
}

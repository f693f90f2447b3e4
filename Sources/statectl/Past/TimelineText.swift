import StateMachineClient
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

/// A span of the past as a picture in SVG: a lane for each state, with a clock below them.
///
/// Pointing at something shows what it was, who set it and why.
struct TimelinePicture {
    /// The width of the span in pixels.
    static let columns = 1000
    /// The height of a lane, and of the band in it.
    private static let lane = (height: 34, band: 22)
    private static let top = 64
    /// The width of a letter of a name in a browser's sans-serif.
    private static let letter = 8
    /// The most characters of a name that are shown.
    private static let name = 24

    /// Okabe and Ito's colours, which people with any kind of colour vision tell apart.
    ///
    /// Two of their eight are left out, as they are hard to see on white. More states than these
    /// reuse them: a lane's name says which state it is.
    private static let colours = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"]

    let text: LineText
    let isUTC: Bool
    /// What is shown above it; nil if the machine has no name.
    var title: String?
    /// The changes that began the stays that are drawn one by one, by their numbers.
    var changes: [UInt64: Line] = [:]

    /// The whole document, without the last newline.
    func text(_ span: PastSpan, _ marks: PictureMarks) -> String {
        let rows = span.summaries()
        let names = rows.map { $0.name.unicodeScalars.count }.max() ?? 0
        let left = 16 + Self.letter * min(names, Self.name) + 16
        let width = left + Self.columns + 240
        let bottom = Self.top + Self.lane.height * rows.count
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(width) \(bottom + 40)\" "
                + "width=\"\(width)\" height=\"\(bottom + 40)\" "
                + "font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">",
            "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>",
            "<text x=\"16\" y=\"26\" font-size=\"16\">\(self.heading(span))</text>",
        ]
        let axis = TimeAxis(start: span.start, end: span.end, isUTC: self.isUTC)
        for mark in axis.marks(atMost: Self.columns / 80) {
            let x = left + Int(self.x(of: mark.time, span))
            lines.append(
                "<path d=\"M\(x).5 \(Self.top - 6)V\(bottom + 6)\" stroke=\"#ddd\"/>"
                    + "<text x=\"\(x)\" y=\"\(bottom + 22)\" text-anchor=\"middle\" "
                    + "fill=\"#555\">\(mark.label.markup())</text>"
            )
        }
        lines.append("<path d=\"M\(left) \(bottom).5H\(left + Self.columns)\" stroke=\"#888\"/>")
        for (state, row) in rows.enumerated() {
            lines += self.lane(state, row, marks.crowds[state], span, left)
        }
        // Short stays lie over long ones, where they can be pointed at.
        let stays = marks.stays.sorted { span.part(of: $0).count > span.part(of: $1).count }
        lines += stays.map { self.band($0, span, left) }
        lines.append("</svg>")
        return lines.joined(separator: "\n")
    }

    private func heading(_ span: PastSpan) -> String {
        let ends = [span.start, span.end].map { self.moment($0).prefix(19) }
        let name = self.title.map { "\($0) · " } ?? ""
        return
            "\(name)\(ends[0]) – \(ends[1])\(self.isUTC ? " UTC" : "") · \(span.stays.changes) changes"
            .markup()
    }

    private func x(of time: Int64, _ span: PastSpan) -> Double {
        Double(time - span.start) / Double(max(1, span.end - span.start)) * Double(Self.columns)
    }

    // MARK: - Lanes

    private func y(_ state: Int) -> Int {
        Self.top + Self.lane.height * state + (Self.lane.height - Self.lane.band) / 2
    }

    /// The name, what there is to say of the state, and its crowds.
    private func lane(
        _ state: Int,
        _ row: StateSummary,
        _ crowds: [PictureMarks.Crowd],
        _ span: PastSpan,
        _ left: Int
    ) -> [String] {
        let baseline = self.y(state) + 16
        let median = row.median.map { ", median \(SpanText.text($0))" } ?? ""
        let remark = "\(SpanText.percent(row.share)), \(row.entered) ×\(median)"
        let texts = [
            "<text x=\"\(left - 12)\" y=\"\(baseline)\" text-anchor=\"end\">"
                + "<title>\(row.name.markup())</title>\(row.name.markup(atMost: Self.name))</text>",
            "<text x=\"\(left + Self.columns + 12)\" y=\"\(baseline)\" fill=\"#555\">"
                + "\(remark.markup())</text>",
        ]
        return texts
            + crowds.map { crowd in
                let height = max(2, Self.lane.band * crowd.eighths / 8)
                let y = self.y(state) + Self.lane.band - height
                return self.rectangle(
                    "x=\"\(left + crowd.columns.lowerBound)\" y=\"\(y)\" "
                        + "width=\"\(crowd.columns.count)\" height=\"\(height)\"",
                    state,
                    self.title(of: crowd, row, span)
                )
            }
    }

    private func title(
        of crowd: PictureMarks.Crowd,
        _ row: StateSummary,
        _ span: PastSpan
    ) -> [String] {
        let width = Double(span.end - span.start) / Double(Self.columns)
        let ends = [crowd.columns.lowerBound, crowd.columns.upperBound].map {
            self.moment(span.start + Int64(Double($0) * width))
        }
        return [row.name, "\(crowd.stays) stays", "\(ends[0]) – \(ends[1])"]
    }

    // MARK: - Stays

    private func band(_ stay: Int, _ span: PastSpan, _ left: Int) -> String {
        let part = span.part(of: stay)
        let state = span.stays.all[stay].state
        let from = Double(left) + self.x(of: part.lowerBound, span)
        let width = max(1.5, self.x(of: part.upperBound, span) + Double(left) - from)
        return self.rectangle(
            "x=\"\(Self.tenths(from))\" y=\"\(self.y(state))\" width=\"\(Self.tenths(width))\" "
                + "height=\"\(Self.lane.band)\"",
            state,
            self.title(of: stay, span)
        )
    }

    /// To a tenth, as nobody sees more digits.
    private static func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    private func title(of stay: Int, _ span: PastSpan) -> [String] {
        let (all, names) = (span.stays.all, span.stays.names)
        let (state, start, change) = (all[stay].state, all[stay].start, self.changes[all[stay].seq])
        let isOver = stay + 1 < all.count
        let length = span.length(of: stay)
        let end = isOver ? " – \(self.moment(start + length))" : ""
        var lines = [
            change?.state?.text ?? names[state],
            "\(self.moment(start))\(end), \(SpanText.text(length))\(isOver ? "" : " so far")",
        ]
        if let change {
            let was = change.from.map { ", was \($0.text)" } ?? ""
            lines.append("#\(change.number)\(was)")
            if let by = change[.by] { lines.append("by \(self.text.peer(by))") }
            if let cause = change.cause { lines.append(cause) }
            if change.isForced { lines.append("forced") }
        }
        return lines
    }

    private func rectangle(_ geometry: String, _ state: Int, _ title: [String]) -> String {
        let text = title.map { $0.markup() }.joined(separator: "&#10;")
        let colour = Self.colours[state % Self.colours.count]
        return "<rect \(geometry) fill=\"\(colour)\"><title>\(text)</title></rect>"
    }

    private func moment(_ microseconds: Int64) -> String {
        LocalTime(WallTime(microseconds: microseconds), inUTC: self.isUTC)
            .map { "\($0.date) \($0.time)" } ?? "?"
    }
}

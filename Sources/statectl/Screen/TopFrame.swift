import StateMachineClient
import StateMachineCore

/// What a screen of that size shows of machines: their status, and the latest changes.
struct TopFrame {
    /// The most lines that one thing may take, such as a state with a long text.
    private static let linesShown = 3
    /// The fewest lines for the latest changes, with their title.
    private static let changesShown = 4

    let text: LineText
    let size: TerminalScreen.Size

    private var width: Int { self.size.columns }

    /// The lines, at most as many as the screen has and none wider.
    func lines(_ views: [MachineView]) -> [String] {
        let body = views.count == 1 ? self.one(views[0]) : self.several(views)
        let changes = self.changes(views)
        let room = self.size.rows - 1
        let reserved = min(Self.changesShown, changes.count + 1)
        var shown = body
        if body.count > room - reserved, room > reserved {
            let hidden = body.count - (room - reserved) + 1
            let more = hidden == 1 ? "… and 1 more line" : "… and \(hidden) more lines"
            shown = body.prefix(room - reserved - 1) + [StyledText(more, as: .aside)]
        }
        if room - shown.count > 1 {
            shown.append(StyledText("last changes", as: .label))
            shown += changes.prefix(room - shown.count)
        }
        return ([self.header(views)] + shown.prefix(max(0, room))).map {
            $0.cut(to: self.width).text(self.text.style)
        }
    }

    private func header(_ views: [MachineView]) -> StyledText {
        let what = views.count == 1 ? views[0].title.printable : "\(views.count) machines"
        let place = views.count == 1 ? views[0].directory.map { "   \($0.printable)" } ?? "" : ""
        let clock = self.text.localTime(self.text.now).map { String($0.time.prefix(8)) } ?? ""
        let right = "  \(clock)  q quits"
        let left = StyledText("\(what)\(place)").cut(to: max(0, self.width - right.columns))
        let line = left.padded(to: max(0, self.width - right.columns)) + StyledText(right)
        return StyledText(line.text(.plain), as: .lit)
    }

    // MARK: - How they are

    private func one(_ view: MachineView) -> [StyledText] {
        var lines: [StyledText] = []
        if let error = view.error {
            lines += self.wrapped([StyledText("gone: \(error.printable)", as: .notice)], indent: 2)
        }
        guard let status = view.status else {
            return lines.isEmpty ? [StyledText("…", as: .aside)] : lines
        }
        let rows = self.text.rows(of: status)
        return lines + rows.flatMap { self.wrapped($0, indent: $0[0].columns + 3) }
    }

    private func several(_ views: [MachineView]) -> [StyledText] {
        let rows = views.compactMap { $0.status.map { self.text.parts(of: $0.state) } }
        let column = [StyledText].firstColumn(rows, in: self.width)
        return views.flatMap { view in
            let name = self.mark(of: view)
            let indent = name.columns + 3
            if let error = view.error {
                let notice = StyledText("gone: \(error.printable)", as: .notice)
                return self.wrapped([name, notice], indent: indent)
            }
            guard let status = view.status else { return [name + StyledText("   …", as: .aside)] }
            let parts = self.text.parts(of: status.state, mark: status.mark)
            let state = parts[0].padded(to: column)
            var lines = self.wrapped([name, state] + parts.dropFirst(), indent: indent)
            let margin = StyledText(String(repeating: " ", count: indent - 3))
            for (word, rows) in [("held", status.holds), ("guarded", status.guards)] {
                for row in rows {
                    let parts = [margin, StyledText(word, as: .notice)] + self.text.voter(row)
                    lines += self.wrapped(parts, indent: indent + 3, keepsMargin: true)
                }
            }
            let behind = status.watching.filter { ($0["lag"]?.integer ?? 0) > 0 }.count
            if behind > 0 {
                let text = "\(status.watching.count) watch, \(behind) behind"
                lines.append(margin + StyledText("   \(text)", as: .aside))
            }
            return lines
        }
    }

    /// Wrapped onto as many lines as it takes, but not more than a few.
    private func wrapped(
        _ parts: [StyledText],
        indent: Int,
        keepsMargin: Bool = false
    ) -> [StyledText] {
        // A part longer than a line gets one line: a state may have 64 KiB.
        let short = parts.map { $0.cut(to: max(8, self.width - indent)) }
        let lines =
            keepsMargin
            ? [short.joined(separator: "   ")]
            : short.wrapped(separator: "   ", to: self.width, indent: min(indent, self.width / 2))
        return lines.prefix(Self.linesShown).map { $0.cut(to: self.width) }
    }

    // MARK: - What has happened

    /// The changes, the newest first.
    private func changes(_ views: [MachineView]) -> [StyledText] {
        let all = views.flatMap { view in view.changes.map { (view, $0) } }
        let newest = all.sorted { ($0.1.at?.microseconds ?? 0) > ($1.1.at?.microseconds ?? 0) }
            .prefix(self.size.rows)
        let mark = views.first?.target.mark.map { $0.columns } ?? 0
        var text = self.text
        text.width = max(1, self.width - mark)
        let rows = RowText(text: text, columns: Columns(width: text.width))
        // Once to learn how wide the columns are.
        for (_, line) in newest { _ = rows.lines(line) }
        return newest.flatMap { view, line in
            zip(0..., rows.lines(line)).map { index, row in
                let name = index == 0 ? self.mark(of: view) : StyledText()
                return name.padded(to: mark) + row
            }
        }
    }

    /// The name that tells a machine from the others, equally wide for all of them.
    private func mark(of view: MachineView) -> StyledText {
        guard let mark = view.target.mark else { return StyledText() }
        return StyledText(mark.name.padded(to: mark.columns - 2), as: .label)
    }
}

import StateMachineClient
import StateMachineCore

/// A line of a watch or a history as a row among others: the time, the number, the state, and what there is to say.
///
/// On a terminal no line is longer than that is wide: what was before is cut first, and at last the row.
struct RowText {
    /// Columns below which a terminal is narrow, and a row has no columns.
    ///
    /// 60: the time, a number and two states.
    private static let narrow = 60

    let text: LineText
    let columns: Columns

    /// The row; on a narrow terminal as many lines as it takes, the state and what follows below each other.
    func text(_ line: Line) -> String {
        // A sign of life tells that nothing has happened up to now.
        let isSign = line.kind == .beat || StuckLine.isOne(line)
        let time = StyledText(self.time(isSign ? self.text.now : line.at), as: .aside)
        let number = StyledText("#\(line.seq.map(String.init) ?? "?")", as: .aside)
        let state = line.state.map { self.text.styled($0) } ?? StyledText("?")
        if let width = self.text.width, width < Self.narrow {
            return
                ([time, number, state] + self.notes(of: line)
                + self.text.origin(line, isShort: true).reversed())
                .wrapped(separator: "  ", to: width, indent: time.columns + 2)
                .map { $0.cut(to: width).text(self.text.style) }
                .joined(separator: "\n")
        }
        let start = [time, number.padded(to: self.columns.seq(number.columns))]
            .joined(separator: "  ")
        let rest = self.rest(of: line)
        let limit = self.text.width.map { ($0 - start.columns - 2) / 2 }
        let width = self.columns.state(state.columns, limit: limit)
        let cell = limit.map { state.cut(to: $0) } ?? state
        let row = ([start, rest.isEmpty ? cell : cell.padded(to: width)] + rest)
            .joined(separator: "  ")
        return (self.text.width.map { row.cut(to: $0) } ?? row).text(self.text.style)
    }

    /// The time; to the second, and without a date, where there is no room.
    private func time(_ moment: WallTime?) -> String {
        let isNarrow = self.text.width.map { $0 < Self.narrow } ?? false
        guard let moment, let time = self.text.localTime(moment) else {
            return isNarrow ? "--:--:--" : "--:--:--.---"
        }
        guard !isNarrow else { return String(time.time.prefix(8)) }
        return time.text(today: self.text.localTime(self.text.now))
    }

    /// What was before, who asked for it and why, and what is out of the common.
    private func rest(of line: Line) -> [StyledText] {
        let origin = self.text.origin(line, isShort: true)
        return self.from(line, isLast: origin.isEmpty) + origin + self.notes(of: line)
    }

    private func notes(of line: Line) -> [StyledText] {
        var notes: [StyledText] = []
        if let skipped = line.skipped { notes.append(StyledText("\(skipped) skipped", as: .aside)) }
        if line.kind == .beat { notes.append(StyledText("still", as: .aside)) }
        if StuckLine.isOne(line), let at = line.at {
            let seconds = (self.text.now.microseconds - at.microseconds) / 1_000_000
            notes.append(StyledText("— for \(LineText.span(max(0, seconds)))", as: .notice))
        }
        if let notice = self.text.notice(line) { notes.append(StyledText(notice, as: .notice)) }
        return notes
    }

    private func from(_ line: Line, isLast: Bool) -> [StyledText] {
        guard let from = line.from else { return [] }
        let was = StyledText("was \(from.text)", as: .aside)
        let limit = self.text.width.map { $0 / 4 }
        let width = self.columns.from(was.columns, limit: limit)
        let cell = limit.map { was.cut(to: $0) } ?? was
        return [isLast ? cell : cell.padded(to: width)]
    }
}

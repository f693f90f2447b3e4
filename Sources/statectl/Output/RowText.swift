import StateMachineClient
import StateMachineCore

/// A line of a watch or a history as a row: the time, the number, the state, and the rest.
///
/// On a terminal no line is wider than the terminal: the previous state is cut first, or left out,
/// and what still has no room stands below the state.
struct RowText {
    /// The width below which a terminal is narrow, and a row has no columns.
    ///
    /// 60: the time, a number and two states.
    private static let narrow = 60

    /// Columns reserved for who asked for a change, before the previous state gets any.
    ///
    /// 24: `by root (deploy.service)`.
    private static let actor = 24
    /// The width below which the previous state says nothing any more.
    ///
    /// 8: `was off` and an ellipsis.
    private static let leastFrom = 8

    let text: LineText
    let columns: Columns

    /// The row as it is printed.
    func text(_ line: Line) -> String {
        self.lines(line).map { $0.text(self.text.style) }.joined(separator: "\n")
    }

    /// The row; on a narrow terminal as many lines as it takes, the state and what follows below each other.
    func lines(_ line: Line) -> [StyledText] {
        // A sign of life tells that nothing has happened up to now.
        let isSign = line.kind == .beat || line.isStuck
        let time = StyledText(self.time(isSign ? self.text.now : line.at), as: .aside)
        let number = StyledText("#\(line.seq.map(String.init) ?? "?")", as: .aside)
        let state = line.state.map { self.text.styled($0) } ?? StyledText("?")
        if let width = self.text.width, width < Self.narrow {
            return
                ([time, number, state] + self.notes(of: line)
                + self.text.origin(line, isShort: true).reversed())
                .wrapped(separator: "  ", to: width, indent: time.columns + 2)
                .map { $0.cut(to: width) }
        }
        let start = [time, number.padded(to: self.columns.seq(number.columns))]
            .joined(separator: "  ")
        let limit = self.text.width.map { width in
            let room = width - start.columns - 2
            return max(room / 2, room - 2 - Self.actor)
        }
        let width = self.columns.state(state.columns, limit: limit)
        let rest = self.rest(of: line, after: start.columns + 2 + width)
        let cell = limit.map { state.cut(to: $0) } ?? state
        let row = [start, rest.isEmpty ? cell : cell.padded(to: width)] + rest
        guard let columns = self.text.width else { return [row.joined(separator: "  ")] }
        return row.wrapped(separator: "  ", to: columns, indent: start.columns + 2)
            .map { $0.cut(to: columns) }
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

    /// The previous state, who asked for the change and why, and notes, after `taken` columns.
    private func rest(of line: Line, after taken: Int) -> [StyledText] {
        let others = self.text.origin(line, isShort: true) + self.notes(of: line)
        return self.from(line, after: taken, isLast: others.isEmpty) + others
    }

    private func notes(of line: Line) -> [StyledText] {
        var notes: [StyledText] = []
        if let skipped = line.skipped { notes.append(StyledText("\(skipped) skipped", as: .aside)) }
        if line.kind == .beat { notes.append(StyledText("still", as: .aside)) }
        if line.isStuck {
            let age = line.stayAge ?? line.age(at: self.text.now)
            notes.append(StyledText("— for \(LineText.span(age.components.seconds))", as: .notice))
        }
        if let length = line["forMs"]?.integer {
            let isOver = line["until"] != nil
            notes.append(
                StyledText("for \(SpanText.text(length * 1000))\(isOver ? "" : " so far")")
            )
        }
        if let notice = self.text.notice(line) { notes.append(StyledText(notice, as: .notice)) }
        return notes
    }

    private func from(_ line: Line, after taken: Int, isLast: Bool) -> [StyledText] {
        guard let from = line.from else { return [] }
        let was = StyledText("was \(from.text)", as: .aside)
        let limit = self.text.width.map { min($0 / 4, $0 - taken - Self.actor - 4) }
        guard limit.map({ $0 >= Self.leastFrom }) ?? true else { return [] }
        let width = self.columns.from(was.columns, limit: limit)
        let cell = limit.map { was.cut(to: $0) } ?? was
        return [isLast ? cell : cell.padded(to: width)]
    }
}

import StateMachineDeclaration

/// A machine drawn with lines and letters: the states below each other, and to their right a lane
/// for each state that is led to, with an arrowhead at it and a branch at everything that leads
/// there.
struct Diagram {
    /// The fewest columns for text with which a drawing is useful.
    private static let leastText = 16
    /// The most states that are drawn; with more, the lines are a thicket.
    ///
    /// 12: that many lanes of two columns each fit beside names and events in a terminal of 80
    /// columns.
    private static let mostStates = 12

    private(set) var rows: [StyledText] = []

    /// A row of text before lanes are drawn beside it.
    private struct Entry {
        var text: StyledText
        /// The state that this row leads to, and whether that way was ever taken.
        var target: (state: Int, isTaken: Bool)?
        /// The state whose own row this is.
        var state: Int?
    }

    /// Nil if there are too many states, or too few columns.
    ///
    /// - Parameters:
    ///   - drawing: the machine.
    ///   - width: columns of the terminal; nil if lines may have any length.
    init?(_ drawing: Drawing, width: Int?) {
        guard drawing.states.count <= Self.mostStates else { return nil }
        let named = Self.entries(drawing, namingTargets: true)
        let lanes = Self.lanes(named)
        let room = 2 * ((lanes.map(\.column).max() ?? -1) + 1) + 3
        let isWide = named.allSatisfy { $0.text.columns + room <= width ?? .max }
        let entries = isWide ? named : Self.entries(drawing, namingTargets: false)
        let widest = entries.map(\.text.columns).max() ?? 0
        let limit = min(widest, (width ?? .max) - room)
        guard limit >= min(widest, Self.leastText) else { return nil }
        var canvas = DiagramCanvas(rows: entries.count, columns: room)
        for lane in lanes { canvas.draw(lane) }
        for (row, entry) in entries.enumerated() {
            let text = entry.text.cut(to: limit)
            let isReached = lanes.contains { $0.head == row }
            let isLeaving = entry.target.map { $0.state != entry.state } ?? false
            let drawn = canvas.text(
                of: row,
                filler: limit - text.columns,
                arrow: isReached ? "◀" : nil,
                dash: isLeaving && canvas.hasBranch(row)
                    ? (entry.target?.isTaken ?? true ? "─" : "╌") : nil
            )
            self.rows.append(drawn.isEmpty ? text : text + StyledText(drawn, as: .label))
        }
        if let links = drawing.linksText {
            self.rows.append(StyledText(links, as: .aside).cut(to: width))
        }
    }

    // MARK: - Rows

    /// The rows of text; if targets are named, each way also says where it leads, beside its lane.
    private static func entries(_ drawing: Drawing, namingTargets isNaming: Bool) -> [Entry] {
        var entries: [Entry] = []
        for (number, state) in drawing.states.enumerated() {
            let isPresent = number == drawing.present
            let remarks = drawing.remarks(number)
            var text =
                StyledText(isPresent ? "● " : "○ ", as: isPresent ? .lit : .label)
                + StyledText(
                    state.name,
                    as: state.mark.map { .marked($0) } ?? (isPresent ? .lit : .state)
                )
            if !remarks.isEmpty { text = text + StyledText(" (\(remarks))", as: .aside) }
            entries.append(Entry(text: text, state: number))
            entries += state.lines.map { Entry(text: StyledText("    \($0)", as: .aside)) }
            for arrow in state.arrows {
                let isBack = arrow.to == number
                let target = isNaming ? " → \(drawing.states[arrow.to].name)" : ""
                let label = "    \(arrow.labels.joined(separator: ", "))\(isBack ? " ↺" : target)"
                var text = StyledText(label)
                if let past = arrow.past { text = text + StyledText("  \(past.text)", as: .aside) }
                entries.append(
                    Entry(text: text, target: isBack ? nil : (arrow.to, arrow.past?.count != 0))
                )
            }
            if state.isOpen { entries.append(Entry(text: StyledText("    set → any"))) }
        }
        return entries
    }

    // MARK: - Lanes

    /// The lanes of all states that something leads to, the short ones near the text.
    private static func lanes(_ entries: [Entry]) -> [DiagramLane] {
        var branches: [Int: [DiagramLane.Branch]] = [:]
        var heads: [Int: Int] = [:]
        for (row, entry) in entries.enumerated() {
            if let state = entry.state { heads[state] = row }
            guard let target = entry.target else { continue }
            branches[target.state, default: []].append((row, target.isTaken))
        }
        let lanes = branches.compactMap { state, branches in
            heads[state].map { DiagramLane(head: $0, branches: branches) }
        }
        .sorted { ($0.rows.count, $0.head) < ($1.rows.count, $1.head) }
        var placed: [DiagramLane] = []
        for var lane in lanes {
            let taken = Set(placed.filter { $0.rows.overlaps(lane.rows) }.map(\.column))
            lane.column = (0...taken.count).first { !taken.contains($0) } ?? taken.count
            placed.append(lane)
        }
        return placed
    }
}

/// A line that runs beside the text, from everything that leads to a state to that state.
struct DiagramLane {
    /// A row that leads there, and whether that way was ever taken.
    typealias Branch = (row: Int, isTaken: Bool)

    /// The state's own row.
    let head: Int
    let branches: [Branch]
    /// Which lane it is, counted from the text.
    var column = 0

    var rows: ClosedRange<Int> {
        let rows = self.branches.map(\.row) + [self.head]
        return (rows.min() ?? 0)...(rows.max() ?? 0)
    }
}

/// What is drawn to the right of the text.
struct DiagramCanvas {
    private var cells: [[Character]]
    /// For each row that a lane joins, the column up to which its line runs.
    private var ends: [Int: Int] = [:]

    init(rows: Int, columns: Int) {
        let row = [Character](repeating: " ", count: columns)
        self.cells = Array(repeating: row, count: rows)
    }

    func hasBranch(_ row: Int) -> Bool { self.ends[row] != nil }

    /// Draws a lane and what joins it, over lanes that are there already.
    mutating func draw(_ lane: DiagramLane) {
        let column = 2 * lane.column + 1
        for row in lane.rows {
            self.cells[row][column] = self.cells[row][column].crossed(byVertical: true)
        }
        self.join(lane, lane.head, column, isTaken: true)
        for branch in lane.branches { self.join(lane, branch.row, column, isTaken: branch.isTaken) }
    }

    private mutating func join(_ lane: DiagramLane, _ row: Int, _ column: Int, isTaken: Bool) {
        self.ends[row] = column
        for other in 0..<column {
            let cell = self.cells[row][other]
            self.cells[row][other] =
                cell == " " ? (isTaken ? "─" : "╌") : cell.crossed(byVertical: false)
        }
        let rows = lane.rows
        self.cells[row][column] = row == rows.lowerBound ? "┐" : row == rows.upperBound ? "┘" : "┤"
    }

    /// What lies between the text of a row and the lanes, and the lanes, without trailing spaces.
    func text(of row: Int, filler: Int, arrow: Character?, dash: Character?) -> String {
        var cells: [Character] = [" "]
        if let arrow, self.hasBranch(row) { cells.append(arrow) }
        let line = self.hasBranch(row) ? dash ?? "─" : " "
        cells += Array(repeating: line, count: max(0, filler + 2 - cells.count))
        cells += self.cells[row]
        while cells.last == " " { cells.removeLast() }
        return String(cells)
    }
}

extension Character {
    /// What it becomes when a line crosses it.
    fileprivate func crossed(byVertical isVertical: Bool) -> Character {
        switch self {
        case " ": isVertical ? "│" : "─"
        case "─", "╌": isVertical ? "┼" : self
        case "│": isVertical ? self : "┼"
        default: self
        }
    }
}

/// A line that runs beside the text, from everything that leads to a state to that state.
struct DiagramLane {
    /// A row that leads there, and whether that way was ever taken.
    typealias Branch = (row: Int, isTaken: Bool)

    /// The state's own row.
    let head: Int
    let branches: [Branch]
    /// Which lane it is, counted from the text.
    var place = 0

    init(head: Int, branches: [Branch]) {
        self.head = head
        self.branches = branches
    }

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
        let column = 2 * lane.place + 1
        for row in lane.rows {
            self.cells[row][column] = self.cells[row][column].crossed(byVertical: true)
        }
        self.join(lane, lane.head, column, isTaken: true)
        for branch in lane.branches {
            self.join(lane, branch.row, column, isTaken: branch.isTaken)
        }
    }

    private mutating func join(_ lane: DiagramLane, _ row: Int, _ column: Int, isTaken: Bool) {
        self.ends[row] = column
        for other in 0..<column {
            let cell = self.cells[row][other]
            self.cells[row][other] =
                cell == " " ? (isTaken ? "─" : "╌") : cell.crossed(byVertical: false)
        }
        let rows = lane.rows
        self.cells[row][column] =
            row == rows.lowerBound ? "┐" : row == rows.upperBound ? "┘" : "┤"
    }

    /// What lies between the text of a row and the lanes.
    func start(of row: Int, filler: Int, arrow: Character?, dash: Character?) -> String {
        guard self.hasBranch(row) else { return String(repeating: " ", count: filler + 2) }
        let line: Character = dash ?? "─"
        let first = arrow.map { " \($0)" } ?? " "
        let rest = filler + 2 - first.count
        return first + String(repeating: line, count: max(0, rest))
    }

    /// The lanes of a row, without trailing spaces.
    func text(of row: Int) -> String {
        var cells = self.cells[row][...]
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

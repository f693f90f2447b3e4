/// What is drawn of a span: stays that are wide enough to be seen or alone in their column, one by
/// one, and the others as their share of the time around them.
struct PictureMarks {
    /// A part of the picture with more stays than can be seen.
    struct Crowd: Equatable {
        /// The pixels that it takes, from the span's beginning.
        var columns: Range<Int>
        /// The state's share of their time, in eighths from 1 to 8.
        let eighths: Int
        /// How many stays begin there.
        var stays: Int
    }

    /// What a column has of a state whose stays are too short to be seen.
    private struct Cell {
        var share = 0.0
        var stays = 0
        var last = 0
    }

    /// The stays that are drawn one by one, in their order.
    private(set) var stays: [Int] = []
    /// The crowds of the other stays, for each state.
    private(set) var crowds: [[Crowd]] = []

    /// - Parameters:
    ///   - span: the span.
    ///   - columns: its width in pixels.
    init(_ span: PastSpan, columns: Int) {
        let width = Double(max(1, span.end - span.start)) / Double(columns)
        var cells = [[Cell]](
            repeating: [Cell](repeating: Cell(), count: columns),
            count: span.stays.names.count
        )
        for stay in 0..<span.stays.count {
            let part = span.part(of: stay)
            if Double(part.count) >= width {
                self.stays.append(stay)
                continue
            }
            // It lies in one column, or in two that follow each other, of which the first counts.
            let from = Double(part.lowerBound - span.start) / width
            let column = min(Int(from), columns - 1)
            let state = Int(span.stays.states[stay])
            cells[state][column].share += Double(part.count) / width
            cells[state][column].stays += 1
            cells[state][column].last = stay
        }
        self.crowds = cells.map(Self.crowds)
        // A stay that is alone can be pointed at, however short it was.
        self.stays += cells.joined().compactMap { $0.stays == 1 ? $0.last : nil }
        self.stays.sort()
    }

    /// Merges neighbours that look the same.
    private static func crowds(_ cells: [Cell]) -> [Crowd] {
        var crowds: [Crowd] = []
        for (column, cell) in cells.enumerated() where cell.stays > 1 {
            let eighths = min(8, max(1, Int((cell.share * 8).rounded())))
            if let last = crowds.last, last.columns.upperBound == column, last.eighths == eighths {
                crowds[crowds.count - 1].columns = last.columns.lowerBound..<column + 1
                crowds[crowds.count - 1].stays += cell.stays
            } else {
                crowds.append(
                    Crowd(columns: column..<column + 1, eighths: eighths, stays: cell.stays)
                )
            }
        }
        return crowds
    }
}

import StateMachineCore

/// Where the parts of rows begin that stand one below the other: wide enough for all that were shown, as far as the
/// terminal is.
///
/// Guarded state: `widths`, behind its lock.
final class Columns: Sendable {
    /// Columns of a number, to begin with: `#41` and room for more.
    private static let seq = 6
    /// Columns of a state, to begin with: `authentication(phase: failure)` and a space.
    private static let state = 32
    /// Columns that a state may make a column have where a line has no end; a longer one pushes the rest to the right.
    ///
    /// 60: two of them and the rest are what a wide window shows.
    private static let most = 60

    private struct Widths {
        var seq: Int
        var state: Int
        var from: Int
    }

    private let widths: Lock<Widths>

    /// - Parameter width: columns of the terminal; nil where a line has no end.
    init(width: Int?) {
        let state = width.map { Swift.min(Self.state, $0 / 5) } ?? Self.state
        let from = width == nil ? state + 4 : state
        self.widths = Lock(Widths(seq: Self.seq, state: state, from: from))
    }

    /// The width of the column of a number that takes so many.
    func seq(_ columns: Int) -> Int {
        self.widths.withLock { widths in
            widths.seq = max(widths.seq, columns)
            return widths.seq
        }
    }

    /// The width of the column of a state that takes so many; `limit` is what the terminal has for it.
    func state(_ columns: Int, limit: Int?) -> Int {
        self.widths.withLock { Self.grow(&$0.state, columns, limit) }
    }

    /// The same of what was before.
    func from(_ columns: Int, limit: Int?) -> Int {
        self.widths.withLock { Self.grow(&$0.from, columns, limit) }
    }

    private static func grow(_ width: inout Int, _ columns: Int, _ limit: Int?) -> Int {
        if let limit {
            // What is longer is cut.
            width = min(max(width, columns), limit)
        } else if columns <= self.most {
            width = max(width, columns)
        }
        return width
    }
}

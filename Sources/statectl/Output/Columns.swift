import StateMachineCore

/// The columns of rows that stand below each other: wide enough for all that was shown so far, if
/// the terminal is wide enough.
///
/// Guarded state: `widths`, behind its lock.
final class Columns: Sendable {
    /// The first width for a number: `#41` and room for more.
    private static let seq = 6
    /// The first width for a state: `authentication(phase: failure)` and a space.
    private static let state = 32
    /// The widest column that a state causes if lines have no limit; longer states shift the rest.
    ///
    /// 60: a wide window shows two of them and the rest.
    private static let most = 60

    private struct Widths {
        var seq: Int
        var state: Int
        var from: Int
    }

    private let widths: Lock<Widths>

    /// - Parameter width: columns of the terminal; nil if lines may have any length.
    init(width: Int?) {
        let state = width.map { Swift.min(Self.state, $0 / 5) } ?? Self.state
        let from = width == nil ? state + 4 : state
        self.widths = Lock(Widths(seq: Self.seq, state: state, from: from))
    }

    /// The width of the numbers' column, after a number of that many columns.
    func seq(_ columns: Int) -> Int {
        self.widths.withLock { widths in
            widths.seq = max(widths.seq, columns)
            return widths.seq
        }
    }

    /// The width of the states' column after one of that width; `limit` is the terminal's room.
    func state(_ columns: Int, limit: Int?) -> Int {
        self.widths.withLock { Self.grow(&$0.state, columns, limit) }
    }

    /// The same for the previous state.
    func from(_ columns: Int, limit: Int?) -> Int {
        self.widths.withLock { Self.grow(&$0.from, columns, limit) }
    }

    private static func grow(_ width: inout Int, _ columns: Int, _ limit: Int?) -> Int {
        if let limit {
            // A longer text is cut.
            width = min(max(width, columns), limit)
        } else if columns <= self.most {
            width = max(width, columns)
        }
        return width
    }
}

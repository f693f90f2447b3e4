/// Limits the moves per time that a machine makes by itself while nobody asks for anything: a state machine that is
/// told of moves and of requests.
///
/// Times are readings of one clock, in microseconds.
package struct MoveBreaker: Sendable {
    /// How many moves it permits in what time.
    package struct Limit: Hashable, Sendable, CustomStringConvertible {
        package let most: Int
        package let time: Duration

        package init(most: Int, time: Duration) {
            self.most = most
            self.time = time
        }

        package var description: String { "\(self.most) within \(self.time)" }
    }

    /// When the moves since the last request were made.
    private var moves: [Int64] = []
    /// Whether one was withheld; then all are, until somebody asks for something.
    package private(set) var isOpen = false

    package init() {}

    /// Whether one may be made now.
    package mutating func permits(_ limit: Limit, at now: Int64) -> Bool {
        let first = now &- limit.time.wholeMicroseconds
        if let kept = self.moves.firstIndex(where: { $0 > first }) {
            self.moves.removeFirst(kept)
        } else {
            self.moves.removeAll(keepingCapacity: true)
        }
        if self.moves.count >= limit.most { self.isOpen = true }
        return !self.isOpen
    }

    /// Notes that a move was made.
    ///
    /// - Parameters:
    ///   - now: when.
    ///   - most: how many of them matter, the newest ones; for a caller who notes them without asking before.
    package mutating func moved(at now: Int64, keeping most: Int = .max) {
        self.moves.append(now)
        if self.moves.count > most { self.moves.removeFirst(self.moves.count - most) }
    }

    /// Starts counting anew: somebody asks for something.
    ///
    /// - Returns: whether moves were withheld.
    package mutating func lift() -> Bool {
        guard !self.moves.isEmpty || self.isOpen else { return false }
        self.moves.removeAll(keepingCapacity: true)
        return exchange(&self.isOpen, with: false)
    }
}

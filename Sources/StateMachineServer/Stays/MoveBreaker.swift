import NIOCore
import StateMachineCore

/// Whether a machine may make one more move of its own: so many in so much time, while nobody asks for
/// anything.
struct MoveBreaker {
    /// When the last ones were made, by the uptime in microseconds; since somebody has asked for something.
    private var moves = CircularBuffer<Int64>()
    /// Whether one was withheld; then all are, until somebody asks for something.
    private(set) var isOpen = false

    /// Whether one may be made now.
    mutating func permits(_ most: Int, within time: Duration, at now: StayMoment) -> Bool {
        let first = now.uptime &- time.wholeMicroseconds
        while let move = self.moves.first, move <= first { self.moves.removeFirst() }
        if self.moves.count >= most { self.isOpen = true }
        return !self.isOpen
    }

    /// One was made.
    mutating func moved(at now: StayMoment) { self.moves.append(now.uptime) }

    /// Somebody asks for something.
    ///
    /// - Returns: whether moves were withheld.
    mutating func lift() -> Bool {
        guard !self.moves.isEmpty || self.isOpen else { return false }
        self.moves.removeAll(keepingCapacity: true)
        return exchange(&self.isOpen, with: false)
    }
}

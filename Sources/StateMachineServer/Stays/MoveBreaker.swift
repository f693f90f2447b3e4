import NIOCore
import StateMachineCore

/// Limits the moves per time that a machine makes by itself while nobody asks for anything.
struct MoveBreaker {
    /// When the moves since the last request were made, by the uptime in microseconds.
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

    /// Notes that a move was made.
    mutating func moved(at now: StayMoment) { self.moves.append(now.uptime) }

    /// Starts counting anew: somebody asks for something.
    ///
    /// - Returns: whether moves were withheld.
    mutating func lift() -> Bool {
        guard !self.moves.isEmpty || self.isOpen else { return false }
        self.moves.removeAll(keepingCapacity: true)
        return exchange(&self.isOpen, with: false)
    }
}

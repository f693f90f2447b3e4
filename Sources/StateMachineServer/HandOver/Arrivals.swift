/// Whether all connections of the last process have come, and what waits for that.
///
/// Until then nothing is decided, since those that have yet to come may have holds and guards. Belongs to the
/// event loop.
final class Arrivals {
    /// What waits; nil once all are here.
    private var waiting: [() -> Void]?

    /// From here on connections of the last process come, one after the other.
    func begin() { self.waiting = [] }

    /// Runs `body` when all of them are here, which may be now.
    func whenAllAreHere(_ body: @escaping () -> Void) {
        if self.waiting == nil { body() } else { self.waiting?.append(body) }
    }

    /// All of them are here.
    func end() {
        let waiting = self.waiting.take() ?? []
        for body in waiting { body() }
    }
}

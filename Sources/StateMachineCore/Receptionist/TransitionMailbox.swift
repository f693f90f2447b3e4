/// The elements that wait for an iterator's task, or the tasks that wait for an element.
///
/// Guarded state, behind `contents`.
final class TransitionMailbox: Sendable {
    /// An element: ``StateMachine/Heard`` is its typed face.
    enum Heard: Sendable {
        case current(Place)
        case change(Change)
        case missed(Int, now: Place)

        /// Where the machine was then.
        var place: Place {
            switch self {
            case .current(let place), .missed(_, let place): place
            case .change(let change): change.place
            }
        }
    }

    /// One call of `next()`.
    final class Wait: Sendable {}

    private typealias Waiting = (wait: Wait, continuation: CheckedContinuation<Heard?, Never>)

    /// What to release after the lock: releasing a state may run a client's code.
    private struct Lost: Sendable {
        var changes: [Change] = []
        var place: Place?
    }

    private struct Contents: Sendable {
        var current: Place?
        var missed = 0
        var missedTo: Place?
        var changes: BoundedBuffer<Change>
        /// In order of arrival; empty while there is an element to hear.
        var waiting: [Waiting] = []
        var isEnded = false

        mutating func next() -> Heard? {
            if let current = self.current.take() { return .current(current) }
            if let now = self.missedTo.take() {
                return .missed(exchange(&self.missed, with: 0), now: now)
            }
            return self.changes.popFirst().map { .change($0) }
        }

        /// Pairs the next value with the task that has waited longest; nil if there is no task, or no value.
        mutating func served() -> (CheckedContinuation<Heard?, Never>, Heard)? {
            guard !self.waiting.isEmpty, let heard = self.next() else { return nil }
            return (self.waiting.removeFirst().continuation, heard)
        }

        /// Drops all that is kept, so that what is reported as missed comes before what follows.
        mutating func lose(_ count: Int, to now: Place) -> Lost {
            let lost = self.changes.takeAll()
            self.missed += lost.count + count
            return Lost(changes: lost, place: exchange(&self.missedTo, with: now))
        }
    }

    private let contents: Lock<Contents>

    init(keeping capacity: Int) {
        self.contents = Lock(Contents(changes: BoundedBuffer(capacity: capacity)))
    }

    /// Called before anything is taken: what has come since the registration is behind it.
    func begin(with current: Place) { self.contents.withLock { $0.current = current } }

    /// Whether a task waits for an element.
    var isAwaited: Bool { self.contents.withLock { !$0.waiting.isEmpty } }

    /// Called in the task that waits.
    ///
    /// - Returns: whether there is no element for it yet.
    func take(_ continuation: CheckedContinuation<Heard?, Never>, as wait: Wait) -> Bool {
        let heard = self.contents.withLock { contents -> Heard?? in
            // Checked under the lock: a task cancelled later is found in `waiting`.
            if Task.isCancelled { return .some(nil) }
            if let heard = contents.next() { return heard }
            if contents.isEnded { return .some(nil) }
            contents.waiting.append((wait, continuation))
            return .none
        }
        if let heard { continuation.resume(returning: heard) }
        return heard == nil
    }

    /// Called by a task that has an element, which is ordered behind whoever put it there.
    ///
    /// A continuation's resumption orders that already; ThreadSanitizer does not see it on Linux, and sees the lock.
    func order() { self.contents.withLock { _ in } }

    /// Called when the waiting task was cancelled; others may go on.
    func withdraw(_ wait: Wait) {
        let withdrawn = self.contents.withLock { contents -> Waiting? in
            guard let index = contents.waiting.firstIndex(where: { $0.wait === wait }) else {
                return nil
            }
            return contents.waiting.remove(at: index)
        }
        withdrawn?.continuation.resume(returning: nil)
    }

    /// Nothing more will come; what is there is heard first.
    func end() {
        let waiting = self.contents.withLock { contents in
            contents.isEnded = true
            return exchange(&contents.waiting, with: [])
        }
        for waiting in waiting { waiting.continuation.resume(returning: nil) }
    }

    func put(_ change: Change) {
        self.update { contents in
            guard contents.changes.count < contents.changes.capacity else {
                return contents.lose(1, to: change.place)
            }
            _ = contents.changes.append(change)
            return Lost()
        }
    }

    func lose(_ count: Int, to now: Place) {
        self.update { $0.lose(count, to: now) }
    }

    private func update(_ update: (inout Contents) -> Lost) {
        let (served, _) = self.contents.withLock { contents in
            let lost = update(&contents)
            return (contents.served(), lost)
        }
        if let (continuation, heard) = served { continuation.resume(returning: heard) }
    }
}

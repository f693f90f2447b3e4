import CPlatform
import Dispatch
import Synchronization

/// Who delivers inline when several threads set: one at a time, each for a while.
///
/// A thread that has delivered a drain's worth offers the turn, and the next setter takes it over.
/// A setter that finds too much undelivered waits for a turn too, so that the backlog stays
/// bounded.
///
/// Guarded state: `line`, the threads that wait, and whether the turn is offered; `areWaiting` and
/// `isOffered` say so to code that does not take the lock. Both are changed under it.
final class Turns: Sendable {
    /// One waiting thread; `isItsTurn` is written before it is woken, and read after.
    private final class Waiting: Sendable {
        private let isItsTurn = Atomic<Bool>(false)
        private let woken = DispatchSemaphore(value: 0)

        func wake(asItsTurn isItsTurn: Bool) {
            self.isItsTurn.store(isItsTurn, ordering: .releasing)
            self.woken.signal()
        }

        func wait() -> Bool {
            self.woken.wait()
            return self.isItsTurn.load(ordering: .acquiring)
        }
    }

    private let line = Lock<[Waiting]>([])
    private let areWaiting = Atomic<Bool>(false)
    private let isOffered = Atomic<Bool>(false)

    /// Waits until it is the caller's turn, or until everything has been delivered.
    ///
    /// - Parameters:
    ///   - isTooMuch: whether too much is undelivered to go on without waiting.
    ///   - isTaken: whether a thread is delivering.
    /// - Returns: whether it is the caller's turn.
    func wait(ifThereIs isTooMuch: () -> Bool, while isTaken: () -> Bool) -> Bool {
        guard self.isOffered.load(ordering: .sequentiallyConsistent) || isTooMuch() else {
            return false
        }
        let waiting = self.line.withLock { line -> Waiting? in
            // Stored before `isTaken()` is asked; a thread that has finished delivering reads it
            // afterwards, so one of the two sees the other.
            self.areWaiting.store(true, ordering: .sequentiallyConsistent)
            guard isTaken() else {
                self.areWaiting.store(!line.isEmpty, ordering: .sequentiallyConsistent)
                return nil
            }
            let waiting = Waiting()
            line.append(waiting)
            return waiting
        }
        return waiting?.wait() ?? false
    }

    /// Gives the turn to the thread that has waited longest; if none waits, to the next setter.
    ///
    /// - Returns: whether another thread has it now.
    func handOver() -> Bool {
        let next = self.line.withLock { line -> Waiting? in
            let next = line.isEmpty ? nil : line.removeFirst()
            self.isOffered.store(next == nil, ordering: .sequentiallyConsistent)
            self.areWaiting.store(!line.isEmpty, ordering: .sequentiallyConsistent)
            return next
        }
        next?.wake(asItsTurn: true)
        return next != nil
    }

    /// Everything has been delivered, and no thread is delivering any more.
    func ended() {
        if self.isAnybodyThere { self.letGo() }
    }

    var isAnybodyThere: Bool {
        self.areWaiting.load(ordering: .sequentiallyConsistent)
            || self.isOffered.load(ordering: .sequentiallyConsistent)
    }

    func letGo() {
        let all = self.line.withLock { line in
            self.isOffered.store(false, ordering: .sequentiallyConsistent)
            self.areWaiting.store(false, ordering: .sequentiallyConsistent)
            defer { line = [] }
            return line
        }
        for waiting in all { waiting.wake(asItsTurn: false) }
    }
}

/// Whether the calling thread is delivering inline, on whatever machine.
///
/// What its callbacks set then waits for no turn: two machines whose delegates set each other would
/// deadlock.
enum InlineTelling {
    /// Not nil on a thread that is.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key, nil)
        precondition(error == 0, "a thread's own variable could not be made: error \(error)")
        return key
    }()

    static var isHere: Bool { pthread_getspecific(self.key) != nil }

    /// Returns whether this is the outermost call.
    static func begin() -> Bool {
        guard !self.isHere else { return false }
        pthread_setspecific(self.key, UnsafeRawPointer(bitPattern: 1))
        return true
    }

    static func end(outermost: Bool) {
        if outermost { pthread_setspecific(self.key, nil) }
    }
}

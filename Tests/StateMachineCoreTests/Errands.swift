import Dispatch
import Synchronization
import TestSupport

@testable import StateMachineCore

/// What chance decides in a walk; the same for the same seed as long as one thread asks.
final class Dice: Sendable {
    private let generator: Lock<SeededGenerator>

    init(seed: UInt64) { self.generator = Lock(SeededGenerator(seed: seed)) }

    func roll(_ range: Range<Int>) -> Int {
        self.generator.withLock { Int.random(in: range, using: &$0) }
    }

    /// True once in so many times.
    func isOne(in count: Int) -> Bool { self.roll(0..<count) == 0 }

    func pick<Element>(of elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[self.roll(0..<elements.count)]
    }
}

/// Numbers moments: what has ended before something else began has the smaller number.
final class Moments: Sendable {
    private let last = Atomic<UInt64>(0)

    /// The present one, which nothing else has.
    var now: UInt64 { self.last.add(1, ordering: .sequentiallyConsistent).newValue }
}

/// What is to be done later by whatever thread comes by, in any order.
///
/// So that what is late is late by chance and not by time: when nothing is left to do, nothing more will happen.
///
/// Guarded state: all of it, behind `guarded`.
final class Errands: Sendable {
    private struct Guarded {
        var errands: [@Sendable () -> Void] = []
        var areOver = false
    }

    private let dice: Dice
    private let guarded = Lock(Guarded())
    /// Signalled for each that comes, and when they are over.
    private let hasMore = DispatchSemaphore(value: 0)

    init(_ dice: Dice) { self.dice = dice }

    func add(_ errand: @escaping @Sendable () -> Void) {
        self.guarded.withLock { $0.errands.append(errand) }
        self.hasMore.signal()
    }

    /// Runs any one of them; returns false if there is none.
    @discardableResult
    func runOne() -> Bool {
        let errand = self.guarded.withLock { guarded -> (@Sendable () -> Void)? in
            guard !guarded.errands.isEmpty else { return nil }
            guarded.errands.swapAt(
                self.dice.roll(0..<guarded.errands.count),
                guarded.errands.count - 1
            )
            return guarded.errands.removeLast()
        }
        errand?()
        return errand != nil
    }

    /// Runs what comes until ``end()`` is called.
    func runAllUntilTheirEnd() {
        while !self.guarded.withLock({ $0.areOver }) {
            if !self.runOne() { self.hasMore.wait() }
        }
    }

    func end() {
        self.guarded.withLock { $0.areOver = true }
        self.hasMore.signal()
    }
}

/// A serial context whose jobs are errands.
///
/// Guarded state: all of it, behind `guarded`.
final class Strand: ExecutionContext {
    private struct Guarded {
        var jobs: [@Sendable () -> Void] = []
        /// Whether the first of them is among the errands, or runs.
        var isScheduled = false
        /// Where one runs.
        var thread: ThreadIdentity?
    }

    private let errands: Errands
    private let guarded = Lock(Guarded())

    init(_ errands: Errands) { self.errands = errands }

    var isCurrent: Bool? { self.guarded.withLock { $0.thread?.isCurrent ?? false } }

    func enqueue(_ job: @escaping @Sendable () -> Void) {
        let wasScheduled = self.guarded.withLock { guarded in
            guarded.jobs.append(job)
            return exchange(&guarded.isScheduled, with: true)
        }
        if !wasScheduled { self.errands.add { self.runFirst() } }
    }

    private func runFirst() {
        let job = self.guarded.withLock { guarded in
            guarded.thread = .current
            return guarded.jobs.removeFirst()
        }
        job()
        let hasMore = self.guarded.withLock { guarded in
            guarded.thread = nil
            guarded.isScheduled = !guarded.jobs.isEmpty
            return guarded.isScheduled
        }
        if hasMore { self.errands.add { self.runFirst() } }
    }
}

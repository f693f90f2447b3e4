import CAllocations
import Dispatch
import StateMachineCore
import TestSupport
import Testing

/// What a commit allocates on the setting thread: exact, whatever else the computer is doing.
@Suite(.enabled(if: allocations_are_counted(), "a sanitizer has an allocator of its own"))
struct AllocationTests {
    /// How many commits are counted; an occasional allocation would show as a fraction.
    private static let commits = 1000

    /// The value, the change, and the entry that links it to the next.
    private static let allocationsOfACommit = 3

    @Test func theCounterCounts() {
        let before = allocations_of_this_thread()
        withExtendedLifetime(Counter()) {}
        #expect(allocations_of_this_thread() - before == 1)
    }

    @Test func aCommitAllocatesItsValueItsChangeItsEntryAndNothingElse() {
        let machine = StateMachine<AppState>()
        #expect(Self.allocations(of: machine) == Self.allocationsOfACommit * Self.commits)
    }

    /// Without optimization, a value of a generic type is boxed wherever it is passed on.
    private static let isOptimized: Bool = {
        #if DEBUG
        false
        #else
        true
        #endif
    }()

    @Test(.enabled(if: Self.isOptimized, "counted in an optimized build"), arguments: [1, 8, 64])
    func anImmediateDelegateAllocatesNothing(_ count: Int) {
        let machine = StateMachine<AppState>()
        let counters = (0..<count).map { _ in Counter() }
        for counter in counters { machine.addDelegate(counter) }
        #expect(Self.allocations(of: machine) == Self.allocationsOfACommit * Self.commits)
        #expect(counters.allSatisfy { $0.count == 2 * Self.commits })
    }

    @Test(arguments: [1, 8, 64])
    func aDelegateOnABusyQueueAllocatesNothingForTheSetter(_ count: Int) async {
        let machine = StateMachine<AppState>()
        // Kept busy, so that no commit has to wake it.
        let held = HeldQueue()
        let counters = (0..<count).map { _ in Counter() }
        for counter in counters { machine.addDelegate(counter, on: held.context) }
        #expect(Self.allocations(of: machine) == Self.allocationsOfACommit * Self.commits)
        held.open()
        await machine.flush()
        #expect(counters.allSatisfy { $0.count == 2 * Self.commits })
    }

    /// Retains and releases of one commit, as they were counted, with an optimizing compiler and without.
    ///
    /// Each is an atomic operation, and together they are most of what a commit takes.
    private static let references: [(delegates: Int, optimized: Int, plain: Int)] = [
        (delegates: 0, optimized: 25, plain: 237),
        (delegates: 1, optimized: 42, plain: 310),
        (delegates: 64, optimized: 105, plain: 2015),
    ]

    @Test(
        .enabled(if: references_are_counted(), "not on this processor"),
        .serialized,
        arguments: Self.references
    )
    func aCommitCountsNoMoreReferencesThanItDid(_ most: (Int, Int, Int)) {
        let machine = StateMachine<AppState>()
        let counters = (0..<most.0).map { _ in Counter() }
        for counter in counters { machine.addDelegate(counter) }
        for step in 0..<Self.commits { machine.state = .ready(step.isMultiple(of: 2)) }
        let before = references_of_this_thread()
        for step in 0..<Self.commits { machine.state = .ready(step.isMultiple(of: 2)) }
        let counted = Int(references_of_this_thread() - before)
        #expect(counters.allSatisfy { $0.count == 2 * Self.commits })
        #expect(counted > 0)
        #expect(counted <= (Self.isOptimized ? most.1 : most.2) * Self.commits)
    }

    private static func allocations(of machine: StateMachine<AppState>) -> Int {
        // The first commits fill caches.
        for step in 0..<self.commits { machine.state = .ready(step.isMultiple(of: 2)) }
        let before = allocations_of_this_thread()
        for step in 0..<self.commits { machine.state = .ready(step.isMultiple(of: 2)) }
        return Int(allocations_of_this_thread() - before)
    }
}

/// `@unchecked Sendable`: used only by its own context, and read when that is at rest.
private final class Counter: StateDelegate, @unchecked Sendable {
    private(set) var count = 0
    func stateChanged(_ transition: Transition<AppState>) { self.count &+= 1 }
}

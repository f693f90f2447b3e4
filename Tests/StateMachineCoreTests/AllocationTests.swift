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

    /// The value, the change, and, where somebody listens, the entry that links it to the next.
    private static let allocationsOfACommit = 3

    @Test func theCounterCounts() {
        let before = allocations_of_this_thread()
        withExtendedLifetime(Counter()) {}
        #expect(allocations_of_this_thread() - before == 1)
    }

    @Test func aCommitThatNobodyHearsOfAllocatesItsValueAndItsChangeAndNothingElse() {
        let machine = StateMachine<AppState>()
        #expect(Self.allocations(of: machine) == 2 * Self.commits)
    }

    /// Without optimization, a value of a generic type is boxed wherever it is passed on.
    private static let isOptimized: Bool = {
        #if DEBUG
        false
        #else
        true
        #endif
    }()

    /// Of a type that writes out neither its names nor what may follow.
    @Test(.enabled(if: Self.isOptimized, "counted in an optimized build"))
    func anEnumThatWritesOutNothingAllocatesNoMore() {
        let machine = StateMachine<Kiosk>()
        let unheard = Self.allocations { machine.state = .serving(customers: $0) }
        #expect(unheard == 2 * Self.commits)
        machine.addObserver(of: ["maintenance"]) { _ in }
        let heard = Self.allocations { machine.state = .serving(customers: $0) }
        #expect(heard == Self.allocationsOfACommit * Self.commits)
    }

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
    /// Each is an atomic operation, and together they are most of what a commit takes. What loads and releases a
    /// delegate, which is held weakly, counts as one.
    private static let references: [(listening: Listeners, optimized: Int, plain: Int)] = [
        (.delegates(0), optimized: 12, plain: 188),
        (.delegates(1), optimized: 30, plain: 292),
        (.delegates(64), optimized: 93, plain: 1993),
        (.observers(1), optimized: 29, plain: 285),
        (.observers(64), optimized: 29, plain: 1545),
        (.observersOfAnotherState(64), optimized: 29, plain: 266),
    ]

    private enum Listeners {
        case delegates(Int)
        case observers(Int)
        case observersOfAnotherState(Int)
    }

    @Test(
        .enabled(if: references_are_counted(), "not on this processor"),
        .serialized,
        arguments: Self.references
    )
    private func aCommitCountsNoMoreReferencesThanItDid(_ most: (Listeners, Int, Int)) {
        let machine = StateMachine<AppState>()
        var counters: [Counter] = []
        switch most.0 {
        case .delegates(let count):
            counters = (0..<count).map { _ in Counter() }
            for counter in counters { machine.addDelegate(counter) }
        case .observers(let count): for _ in 0..<count { machine.addObserver { _ in } }
        case .observersOfAnotherState(let count):
            for _ in 0..<count { machine.addObserver(of: [.authentication]) { _ in } }
        }
        for step in 0..<Self.commits { machine.state = .ready(step.isMultiple(of: 2)) }
        let before = references_of_this_thread()
        for step in 0..<Self.commits { machine.state = .ready(step.isMultiple(of: 2)) }
        let counted = Int(references_of_this_thread() - before)
        #expect(counters.allSatisfy { $0.count == 2 * Self.commits })
        #expect(counted > 0)
        #expect(counted <= (Self.isOptimized ? most.1 : most.2) * Self.commits)
    }

    private static func allocations(of machine: StateMachine<AppState>) -> Int {
        self.allocations { machine.state = .ready($0.isMultiple(of: 2)) }
    }

    private static func allocations(setting set: (Int) -> Void) -> Int {
        // The first commits fill caches.
        for step in 0..<self.commits { set(step) }
        let before = allocations_of_this_thread()
        for step in 0..<self.commits { set(step) }
        return Int(allocations_of_this_thread() - before)
    }
}

/// `@unchecked Sendable`: used only by its own context, and read when that is at rest.
private final class Counter: StateDelegate, @unchecked Sendable {
    private(set) var count = 0
    func stateChanged(_ transition: Transition<AppState>) { self.count &+= 1 }
}

private enum Kiosk: EnumState {
    case booting
    case maintenance(reason: String)
    case serving(customers: Int)

    static var initial: Kiosk { .booting }
    static var examples: [Kiosk] { [.booting, .maintenance(reason: ""), .serving(customers: 1)] }
}

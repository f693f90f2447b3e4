import CAllocations
import StateMachineHistory
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineCore
@testable import StateMachineServer

/// What a set costs the daemon on all of its threads: counts, which are the same whatever else the computer does.
@Suite(
    .bounded,
    .serialized,
    .enabled(if: allocations_are_counted(), "a sanitizer has an allocator of its own"),
    .enabled(if: references_are_counted(), "not on this processor")
)
struct SetCostTests {
    /// What a thread has asked of the allocator and of reference counting so far, or what some sets have.
    private struct Counts: CustomStringConvertible {
        var allocations = 0
        var references = 0

        static var here: Self {
            Self(
                allocations: Int(allocations_of_this_thread()),
                references: Int(references_of_this_thread())
            )
        }

        mutating func add(from start: Self, to end: Self) {
            self.allocations += end.allocations - start.allocations
            self.references += end.references - start.references
        }

        var description: String {
            "\(self.allocations) allocations, \(self.references) references"
        }
    }

    /// What both threads have, and how many groups were committed.
    private typealias Moment = (loop: Counts, disk: Counts, groups: UInt64)

    /// How many are sent in one write: the next are sent when all of these are answered.
    private static let together = 100
    private static let batches = 10

    private static func makeSets(_ lone: LoneServer) {
        let sets = (0..<Self.together).map { number in
            let state = number % 2 == 0 ? #""open","data":{"degrees":70}"# : #""closed""#
            return #"{"op":"set","state":\#(state)}"# + "\n"
        }
        lone.send(raw: sets.joined())
        for _ in sets { #expect(lone.line().contains(#""changed":true"#)) }
    }

    private static func moment(_ lone: LoneServer, _ history: History?) async throws -> Moment {
        var disk = Counts()
        if let history {
            disk = await withCheckedContinuation { continuation in
                // On the thread that commits.
                history.settle { _ in continuation.resume(returning: .here) }
            }
        }
        let groups = lone.machine.machine.holder.withLock { $0.gate.groups.count }
        return (try await lone.onLoop { _ in .here }, disk, groups)
    }

    /// What a thousand sets cost on the loop and where a history commits.
    ///
    /// A computer that is busy elsewhere may take several turns of the loop for what is sent together, and commits as many
    /// groups: such sets do not count.
    private static func cost(_ lone: LoneServer, _ history: History? = nil) async throws -> Counts {
        // What is made once is there then.
        self.makeSets(lone)
        var (counts, counted) = (Counts(), 0)
        var start = try await self.moment(lone, history)
        for _ in 0..<50 * self.batches where counted < self.batches {
            self.makeSets(lone)
            let end = try await self.moment(lone, history)
            if end.groups - start.groups == (history == nil ? 0 : 1) {
                counts.add(from: start.loop, to: end.loop)
                counts.add(from: start.disk, to: end.disk)
                counted += 1
            }
            start = end
        }
        try #require(counted == self.batches)
        return counts
    }

    /// Compares them with those that were counted, and a hundredth more: a step that allocates once more for each set is
    /// seen.
    ///
    /// They were counted without an optimizing compiler, which keeps many references that an optimizing one does not;
    /// `contrib/benchmarks/cost/run` counts those of a release build.
    private static func expect(_ counts: Counts, atMost most: Counts) {
        #expect(counts.allocations <= most.allocations, "\(counts)")
        #expect(counts.references <= most.references, "\(counts)")
    }

    @Test func anEphemeralSetCountsNoMoreThanItDid() async throws {
        try await LoneServer.run { lone in
            let counts = try await Self.cost(lone)
            Self.expect(counts, atMost: Counts(allocations: 26_200, references: 768_000))
        }
    }

    @Test func aDurableSetCountsNoMoreThanItDid() async throws {
        try await withTemporaryDirectory { directory in
            let history = try SQLiteHistory<DoorState>(directory: directory)
            try await LoneServer.run(of: history.makeMachine()) { lone in
                let counts = try await Self.cost(lone, history.history)
                Self.expect(counts, atMost: Counts(allocations: 34_000, references: 929_000))
            }
        }
    }
}

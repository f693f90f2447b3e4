import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import StateMachineSQLite
import TestSupport
import Testing

@Suite(.bounded) struct CommitTests {
    @Test func whatCannotBeWrittenDoesNotHappenUntilItCan() async throws {
        try await withHistory { history, path in
            let troubles = Recorder<String?>()
            history.history.onTrouble { work, why in
                #expect(work == .commits)
                troubles.record(why)
            }
            let machine = history.makeMachine()
            try await machine.assign(.ready(true))
            let before = machine.snapshot
            try other(
                path,
                """
                CREATE TRIGGER refusal AFTER INSERT ON change WHEN NEW.seq > 2
                BEGIN SELECT RAISE(ABORT, 'no more'); END
                """
            )
            // A group with one refused row leaves no row behind.
            let group = (2...4).map { seq in
                Transition<AppState>(
                    seq: UInt64(seq),
                    old: .ready(true),
                    new: .ready(true),
                    at: .now
                )
            }
            let why = try #require(await history.committed(group))
            #expect(why.contains("no more") && why.contains("statemachine.sqlite"))
            #expect(try await history.all(after: 0).map(\.seq) == [1])
            try other(path, "DROP TRIGGER refusal")
            try other(
                path,
                """
                CREATE TRIGGER refusal BEFORE INSERT ON change
                BEGIN SELECT RAISE(ABORT, 'no more'); END
                """
            )
            #expect(throws: TransitionError<AppState>(.notCommitted(why: why), current: before)) {
                try machine.assign(.ready(false))
            }
            #expect(machine.snapshot == before)
            try other(path, "DROP TRIGGER refusal")
            try await machine.assign(.ready(false))
            #expect(machine.snapshot.seq == 2)
            #expect(try await history.all(after: 0).map(\.seq) == [1, 2])
            await troubles.wait(for: 2)
            #expect(troubles.heard == [why, nil])
        }
    }

    @Test func aRowThatWouldGetAnotherSeqIsRefusedAndTheNextIsNot() async throws {
        try await withHistory { history, path in
            #expect(await history.committed(Self.transitions(1...20)) == nil)
            try other(path, "DELETE FROM change WHERE seq > 18")
            let why = try #require(await history.committed(Self.transitions(21...40)))
            #expect(why.contains("change 20 is no longer the last one"))
            #expect(try await history.all(after: 0).map(\.seq) == Array(1...18))
            #expect(await history.committed(Self.transitions(21...40)) == nil)
            let all = try await history.all(after: 18)
            #expect(all.map(\.seq) == Array(21...40))
            #expect(all.allSatisfy { $0.old != nil })
        }
    }

    /// Nothing is written twice that the row before has; whoever reads finds it all the same.
    @Test func aRowSaysWhatItLeftWhereTheRowBeforeDoesNot() async throws {
        try await withHistory { history, path in
            for group in [Self.transitions(1...2), Self.transitions(3...20)] {
                #expect(await history.committed(group) == nil)
            }
            #expect(await history.committed(Self.transitions(41...60)) == nil)
            let database = try Database("\(path)/statemachine.sqlite", .readOnly)
            let own = "SELECT seq FROM change WHERE fromState IS NOT NULL"
            #expect(try database.all(own) { $0.integer(0) } == [41])
            let shown = "SELECT seq, fromState || fromData FROM history WHERE seq > 0"
            let view = try database.all(shown) { ($0.integer(0), $0.text(1)) }
            #expect(view.count == 40)
            #expect(
                view.allSatisfy { seq, old in old == #"ready{"value":\#(seq % 2 == 0)}"# },
                "\(view)"
            )
            let all = try await history.all(after: 0)
            #expect(all.map(\.seq) == Array(1...20) + Array(41...60))
            #expect(all.allSatisfy { $0.old?.data == #"{"value":\#($0.seq % 2 == 0)}"# })
        }
    }

    @Test func aLongPastComesInPieces() async throws {
        try await withHistory { history, path in
            #expect(await history.committed(Self.transitions(1...2000)) == nil)
            let query = TransitionQuery(after: 1000, before: 1 << 53)
            let piece = try await history.history.next(query).transitions
            #expect(piece.count <= 512)
            #expect(piece.map(\.seq) == Array(1001...UInt64(1000 + piece.count)))
            #expect(try await history.all(after: 0).map(\.seq) == Array(1...2000))
        }
    }

    @Test func tooManyAreRemovedButNeverTheNewest() async throws {
        try await withHistory(HistoryOptions(keepChanges: 10)) { history, _ in
            for first in stride(from: UInt64(1), to: 3000, by: 500) {
                let group = Self.transitions(first...first + 499)
                #expect(await history.committed(group) == nil)
            }
            await Self.pruned(history, to: 2991)
            let kept = try await history.all(after: 0)
            #expect(kept.map(\.seq) == Array(2991...3000))
            // What the first of them left is known, although the row before is gone.
            #expect(kept.first?.old == kept.dropFirst().first?.new)
        }
    }

    @Test func tooOldAreRemovedButNeverTheNewest() async throws {
        let old = WallTime(microseconds: WallTime.now.microseconds - 2 * 86_400_000_000)
        for (last, isAnyNew) in [(1500, true), (5, false)] as [(UInt64, Bool)] {
            try await withHistory { history, path in
                #expect(await history.committed(Self.transitions(1...last, at: old)) == nil)
                let new = last + 1...last + 10
                if isAnyNew { #expect(await history.committed(Self.transitions(new)) == nil) }
                let again = try History(
                    directory: try leftovers(of: path),
                    options: HistoryOptions(keepDays: 1)
                )
                let kept = isAnyNew ? Array(new) : [last]
                await Self.pruned(again, to: kept[0])
                #expect(try await again.all(after: 0).map(\.seq) == kept)
            }
        }
    }

    /// Waits for all steps, each of which is queued by the one before it.
    private static func pruned(_ history: History, to seq: UInt64) async {
        while history.history.oldest < seq { #expect(await history.settled() == nil) }
        #expect(history.history.oldest == seq)
    }

    private static func transitions(
        _ seqs: ClosedRange<UInt64>,
        at time: WallTime = .now
    ) -> [Transition<AppState>] {
        seqs.map { seq in
            Transition(seq: seq, old: .ready(seq % 2 == 0), new: .ready(seq % 2 == 1), at: time)
        }
    }
}

import CFailingSync
import StateMachineCore
import StateMachineHistory
import StateMachineSQLite
import TestSupport
import Testing

/// A disk that takes what is written, and does not say that it has it.
///
/// One after the other: how many syncs fail is the process's.
@Suite(.serialized, .bounded) struct UnsyncedTests {
    private func commit(_ seq: UInt64, _ history: SQLiteHistory<AppState>) async -> Recorded {
        let value = TypedValue(AppState.ready(seq.isMultiple(of: 2)))
        let old = TypedValue(AppState.ready(!seq.isMultiple(of: 2)))
        let change = Change(seq: seq, old: old, new: value, at: .now, stay: seq)
        return await withCheckedContinuation { continuation in
            history.history.record([.change(change)]) { continuation.resume(returning: $0) }
        }
    }

    private func opened(_ directory: String) throws -> SQLiteHistory<AppState> {
        try SQLiteHistory(
            directory: "\(directory)/failing-sync",
            options: HistoryOptions(.disk),
            boot: nil
        )
    }

    /// What is found at the next start if the process is killed now.
    private func found(_ directory: String) throws -> UInt64 {
        try SQLiteHistory<AppState>(
            directory: try leftovers(of: "\(directory)/failing-sync"),
            boot: nil
        ).history.place.seq
    }

    @Test func whatWasRefusedIsNotThereAfterACrash() async throws {
        failing_sync_register()
        try await withTemporaryDirectory { directory in
            let history = try self.opened(directory)
            #expect(await self.commit(1, history).failure == nil)
            failing_sync_fail(1)
            let answer = await self.commit(2, history)
            guard case .failed = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(try self.found(directory) == 1)
            #expect(await self.commit(2, history).failure == nil)
            #expect(try self.found(directory) == 2)
        }
    }

    @Test func whatMayBeThereIsCalledUnsure() async throws {
        failing_sync_register()
        try await withTemporaryDirectory { directory in
            let history = try self.opened(directory)
            #expect(await self.commit(1, history).failure == nil)
            failing_sync_fail(-1)
            let answer = await self.commit(2, history)
            failing_sync_fail(0)
            guard case .unsure = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(await self.commit(2, history).failure == nil)
            #expect(try self.found(directory) == 2)
        }
    }
}

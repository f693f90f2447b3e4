import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import TestSupport
import Testing

/// A history that is gone or incomplete begins anew, and says so.
@Suite(.bounded)
struct LossTests {
    @Test(arguments: [["", "-wal", "-shm"], ["-wal", "-shm"]])
    func aDatabaseThatIsGoneIsMissed(_ removed: [String]) async throws {
        try await withTemporaryDirectory { directory in
            let first = "\(directory)/a"
            let history = try History(directory: first)
            #expect(history.loss == nil)
            try await history.makeMachine().assign(.ready(true))
            let copy = try leftovers(of: first)
            let database = "\(copy)/statemachine.sqlite"
            for suffix in removed { try FileManager.default.removeItem(atPath: database + suffix) }
            if !removed.contains("") { try Self.empty(database) }
            let again = try History(directory: copy)
            #expect(again.loss == .missing(database: database))
            #expect(again.epoch != history.epoch)
            #expect(again.snapshot.seq == 0)
            // The loss has been reported; the new history is complete.
            let last = try History(directory: try leftovers(of: copy))
            #expect(last.loss == nil)
            #expect(last.epoch == again.epoch)
        }
    }

    @Test
    func aFirstStartThatWasCutShortIsNoLoss() async throws {
        try await withTemporaryDirectory { directory in
            try Data("4711\n".utf8).write(to: URL(filePath: "\(directory)/statemachine.lock"))
            #expect(try History(directory: directory).loss == nil)
        }
    }

    @Test(arguments: [true, false])
    func whatADatabaseWithoutItsBeginningHasLeftIsSetAside(_ isThere: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let first = "\(directory)/a"
            let history = try History(directory: first)
            try await history.makeMachine().assign(.ready(true))
            let copy = try leftovers(of: first)
            let database = "\(copy)/statemachine.sqlite"
            let log = try Data(contentsOf: URL(filePath: "\(database)-wal"))
            #expect(!log.isEmpty)
            if isThere {
                try Self.empty(database)
            } else {
                try FileManager.default.removeItem(atPath: database)
            }
            let again = try History(directory: copy)
            #expect(again.epoch != history.epoch)
            guard case .corrupt(let aside) = again.loss else {
                Issue.record("\(String(describing: again.loss))")
                return
            }
            #expect(try Data(contentsOf: URL(filePath: "\(aside)-wal")) == log)
        }
    }

    @Test
    func damageThatAStartDoesNotSeeFailsWhoReadsIt() async throws {
        try await withTemporaryDirectory { directory in
            let first = "\(directory)/a"
            let machine = try History(directory: first).makeMachine()
            for number in 1...1000 { try await machine.assign(.ready(number % 2 == 1)) }
            let copy = try leftovers(of: first)
            try other(copy, "PRAGMA wal_checkpoint(TRUNCATE)")
            let file = try FileHandle(
                forUpdating: URL(filePath: "\(copy)/statemachine.sqlite")
            )
            // A page in the middle of the table; its ends stay intact.
            try file.seek(toOffset: try file.seekToEnd() / 4096 / 2 * 4096)
            try file.write(contentsOf: Data(repeating: 0xa5, count: 4096))
            try file.close()
            let history = try History(directory: copy)
            #expect(history.loss == nil)
            #expect(history.snapshot.seq == 1000)
            await #expect(throws: HistoryFailure.self) { try await history.all(after: 0) }
            #expect(try await history.all(after: 990).count == 10)
            try await history.makeMachine().assign(.ready(true))
        }
    }

    @Test
    func aDatabaseThatIsPutBackBeginsAnEpochIfToldTo() async throws {
        try await withTemporaryDirectory { directory in
            let first = "\(directory)/a"
            let history = try History(directory: first)
            try await history.makeMachine().assign(.ready(true))
            let copy = try leftovers(of: first)
            try other(copy, "DELETE FROM meta")
            let again = try History(directory: copy)
            #expect(again.epoch != history.epoch)
            #expect(again.snapshot.seq == 1)
        }
    }

    private static func empty(_ file: String) throws {
        let file = try FileHandle(forUpdating: URL(filePath: file))
        try file.truncate(atOffset: 0)
        try file.close()
    }
}

import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import TestSupport
import Testing

/// A history that is gone or incomplete begins anew, and says so.
@Suite(.bounded) struct LossTests {
    @Test(arguments: [["", "-wal", "-shm"], ["-wal", "-shm"]])
    func aDatabaseThatIsGoneIsMissed(_ removed: [String]) async throws {
        try await withLeftovers(of: 1) { copy, epoch in
            let database = "\(copy)/statemachine.sqlite"
            for suffix in removed { try FileManager.default.removeItem(atPath: database + suffix) }
            if !removed.contains("") { try Self.empty(database) }
            let again = try History(directory: copy)
            #expect(again.loss == .missing(database: database))
            #expect(again.epoch != epoch)
            #expect(again.snapshot.seq == 0)
            // The loss has been reported; the new history is complete.
            let last = try History(directory: try leftovers(of: copy))
            #expect(last.loss == nil)
            #expect(last.epoch == again.epoch)
        }
    }

    @Test func aFirstStartThatWasCutShortIsNoLoss() async throws {
        try await withTemporaryDirectory { directory in
            try Data("4711\n".utf8).write(to: URL(filePath: "\(directory)/statemachine.lock"))
            #expect(try History(directory: directory).loss == nil)
        }
    }

    @Test(arguments: [true, false])
    func whatADatabaseWithoutItsBeginningHasLeftIsSetAside(_ isThere: Bool) async throws {
        try await withLeftovers(of: 1) { copy, epoch in
            let database = "\(copy)/statemachine.sqlite"
            let log = try Data(contentsOf: URL(filePath: "\(database)-wal"))
            #expect(!log.isEmpty)
            if isThere {
                try Self.empty(database)
            } else {
                try FileManager.default.removeItem(atPath: database)
            }
            let again = try History(directory: copy)
            #expect(again.epoch != epoch)
            guard case .corrupt(let aside) = again.loss else {
                Issue.record("\(String(describing: again.loss))")
                return
            }
            #expect(try Data(contentsOf: URL(filePath: "\(aside)-wal")) == log)
        }
    }

    @Test func damageThatAStartDoesNotSeeFailsWhoReadsIt() async throws {
        try await withLeftovers(of: 1000) { copy, _ in
            try other(copy, "PRAGMA wal_checkpoint(TRUNCATE)")
            let file = try FileHandle(forUpdating: URL(filePath: "\(copy)/statemachine.sqlite"))
            // A page of rows from between the ends of the table, which stay intact.
            try file.seek(toOffset: try file.seekToEnd() / 4096 * 2 / 3 * 4096)
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

    @Test func aDatabaseThatIsPutBackBeginsAnEpochIfToldTo() async throws {
        try await withLeftovers(of: 1) { copy, epoch in
            try other(copy, "DELETE FROM meta")
            let again = try History(directory: copy)
            #expect(again.epoch != epoch)
            #expect(again.loss == .restored(database: "\(copy)/statemachine.sqlite"))
            #expect(again.snapshot.seq == 1)
        }
    }

    private static let kept = """
        INSERT INTO kept (number, name, uid, pid, since, request)
            VALUES (7, 'door', 1000, 42, 0, '{"op":"guard"}')
        """

    /// Of what is held nothing is lost, and nobody else may release it.
    @Test func whoseUserIsNoneIsRoots() async throws {
        try await withLeftovers(of: 1) { copy, _ in
            try other(copy, Self.kept)
            try other(copy, "UPDATE kept SET uid = -7, pid = 9007199254740992")
            let again = try History(directory: copy)
            #expect(again.loss == nil)
            let door = try #require(again.history.beginning.voters.first)
            #expect(door.number == 7 && door.name == "door" && door.peer.uid == 0)
        }
    }

    /// What could not be found again would let pass what is held.
    @Test(arguments: [
        ("UPDATE kept SET number = -4", "has the number -4"),
        ("UPDATE kept SET number = 9223372036854775807", "has the number 9223372036854775807"),
        ("DROP TABLE kept", "no such table: kept"),
    ])
    func holdsAndGuardsThatCannotBeFoundAreNotPassedOver(sql: String, why: String) async throws {
        try await withLeftovers(of: 1) { copy, _ in
            try other(copy, Self.kept)
            try other(copy, sql)
            let error = try #require(throws: HistoryError.self) { try History(directory: copy) }
            #expect(error.isLasting && error.description.contains(why), "\(error)")
        }
    }

    /// What no program has written there is damage, of the newest row too.
    @Test(arguments: [
        "UPDATE change SET at = -9223372036854775808 WHERE seq = 2",
        "UPDATE change SET at = 9223372036854775807 WHERE seq = 2",
        "UPDATE change SET data = '{\"value\":' WHERE seq = 2",
        "UPDATE change SET data = '[]' WHERE seq = 2",
        "UPDATE change SET seq = 9223372036854775807 WHERE seq = 2",
        "UPDATE change SET seq = 9007199254740992 WHERE seq = 2",
    ])
    func aNewestRowThatCannotBeIsSetAside(sql: String) async throws {
        try await withLeftovers(of: 2) { copy, _ in
            try other(copy, sql)
            let history = try History(directory: copy)
            guard case .corrupt(let aside) = history.loss else {
                Issue.record("not set aside: \(String(describing: history.loss))")
                return
            }
            #expect(FileManager.default.fileExists(atPath: aside))
            #expect(history.snapshot.seq == 0)
            try await history.makeMachine().assign(.ready(true))
        }
    }

    /// It would go out as lines that are no JSON.
    @Test(
        arguments: ["data", "fromState = 'ready', fromData"],
        ["x", "{\"a\":1}\n{}", "[1]", "{"]
    )
    func aRowWhoseDataAreNoObjectIsReadByNobody(column: String, text: String) async throws {
        try await withLeftovers(of: 4) { copy, _ in
            try other(copy, "UPDATE change SET \(column) = '\(text)' WHERE seq = 2")
            let history = try History(directory: copy)
            #expect(history.snapshot.seq == 4)
            let error = await #expect(throws: HistoryFailure.self) {
                try await history.all(after: 0)
            }
            #expect("\(error, default: "")".contains("the data of change 2 is not a JSON object"))
            // The next one, which has what it left from there, is read without it.
            let later = try await history.all(after: 2)
            #expect(later.map(\.seq) == [3, 4])
            #expect((later.first?.old == nil) == (column == "data"))
        }
    }

    /// Neither who searches nor what removes old rows looks through what is not there.
    @Test func aGapCostsNothing() async throws {
        try await withLeftovers(of: 4) { copy, _ in
            let far: UInt64 = 1 << 52
            try other(copy, "UPDATE change SET seq = \(far) WHERE seq = 4")
            let history = try History(directory: copy)
            for isNewestFirst in [true, false] {
                var query = TransitionQuery(after: 0, before: far + 1, isNewestFirst: isNewestFirst)
                query.origin.cause = "none"
                var rounds = 0
                while query.before > query.after + 1 {
                    let finding = try await history.history.next(query)
                    #expect(finding.transitions.isEmpty)
                    query.goOn(after: finding)
                    rounds += 1
                    try #require(rounds < 5)
                }
            }
            #expect(await history.settled() == nil)
            #expect(history.history.oldest == far)
            try await history.makeMachine().assign(.ready(true))
        }
    }

    /// What is written to a file without a name is at no start.
    @Test(arguments: ["statemachine.sqlite", "statemachine.sqlite-wal", ""])
    func whatIsRemovedWhileItIsOpenTakesNoMoreChanges(name: String) async throws {
        try await withHistory { history, path in
            let machine = history.makeMachine()
            try await machine.change(1)
            let (file, away) = (name.isEmpty ? path : "\(path)/\(name)", "\(path)-away")
            try FileManager.default.moveItem(atPath: file, toPath: away)
            let error = await #expect(throws: TransitionError<AppState>.self) {
                try await machine.assign(.ready(false))
            }
            #expect("\(error, default: "")".contains("was removed or renamed while it was in use"))
            #expect(machine.state == .ready(true))
            try FileManager.default.moveItem(atPath: away, toPath: file)
            try await machine.assign(.ready(false))
            guard !name.isEmpty else { return }
            try FileManager.default.copyItem(atPath: file, toPath: away)
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.moveItem(atPath: away, toPath: file)
            let replaced = await #expect(throws: TransitionError<AppState>.self) {
                try await machine.assign(.ready(true))
            }
            #expect("\(replaced, default: "")".contains("was replaced while it was in use"))
        }
    }

    /// SQLite would go on with what it has in memory and in the log, and with the other file's pages.
    @Test(arguments: [true, false])
    func whatIsOverwrittenWhileItIsOpenIsNeitherReadNorWritten(isSettled: Bool) async throws {
        try await withHistory { history, path in
            let machine = history.makeMachine()
            try await machine.change(1)
            if isSettled { #expect(await history.settled() == nil) }
            let file = "\(path)/statemachine.sqlite"
            // Its own copy, as a person would put back who has thought better of it.
            let copy = try Data(contentsOf: URL(filePath: file))
            try await machine.change(2)
            if isSettled { #expect(await history.settled() == nil) }
            #expect(try await history.all(after: 0).count == 3)
            try FileHandle(forWritingTo: URL(filePath: file)).write(contentsOf: copy)
            let error = await #expect(throws: TransitionError<AppState>.self) {
                try await machine.change(1)
            }
            #expect("\(error, default: "")".contains("was overwritten while it was in use"))
            let reading = await #expect(throws: (any Error).self) {
                try await history.all(after: 0)
            }
            #expect("\(reading, default: "")".contains("was overwritten while it was in use"))
            // What is in the log does not get into the other file.
            #expect(await history.settled()?.contains("was overwritten") == true)
        }
    }

    private static func empty(_ file: String) throws {
        let file = try FileHandle(forUpdating: URL(filePath: file))
        try file.truncate(atOffset: 0)
        try file.close()
    }
}

import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import StateMachineSQLite
import TestSupport
import Testing

/// What a clean stop leaves.
@Suite(.bounded) struct SettlingTests {
    @Test func theFileOfTheDatabaseAloneIsWhole() async throws {
        try await withHistory { history, first in
            let machine = history.makeMachine()
            try await machine.change(9)
            let killed = try leftovers(of: first)
            #expect(await history.settled() == nil)
            try await Self.expectWhole(first, machine, of: history.epoch, in: "\(first)-b")
            // The history goes on after that.
            try await machine.assign(.ready(false))
            #expect(await history.settled() == nil)
            try await Self.expectWhole(first, machine, of: history.epoch, in: "\(first)-c")

            // This includes what the previous run left in the log, even if nothing was added to it.
            let again = try History(directory: killed)
            #expect(await again.settled() == nil)
            try await Self.expectWhole(
                killed,
                again.makeMachine(),
                of: history.epoch,
                in: "\(first)-d"
            )
        }
    }

    @Test func aReaderInTheWayIsNotWaitedFor() async throws {
        try await withTemporaryDirectory { directory in
            let first = "\(directory)/a"
            let history = try History(
                directory: first,
                options: HistoryOptions(),
                boot: nil,
                // Longer than this test may take, but not by much, so that a failure shows soon.
                timeout: .seconds(90)
            )
            let machine = history.makeMachine()
            try await machine.assign(.ready(true))
            let reader = try Database("\(first)/statemachine.sqlite")
            try reader.execute("BEGIN; SELECT * FROM change")
            try await machine.assign(.ready(false))
            #expect(await history.settled() == nil)
            #expect(try Self.log(of: first) > 0)
            let newest = try reader.first("SELECT max(seq) FROM change") { $0.integer(0) }
            #expect(newest == 1)
            try reader.execute("COMMIT")
            #expect(await history.settled() == nil)
            #expect(try Self.log(of: first) == 0)
            try await Self.expectWhole(first, machine, of: history.epoch, in: "\(directory)/b")
        }
    }

    private static func log(of directory: String) throws -> Int {
        try Data(contentsOf: URL(filePath: "\(directory)/statemachine.sqlite-wal")).count
    }

    /// Begins in a new directory with the file alone.
    private static func expectWhole(
        _ directory: String,
        _ machine: Machine,
        of epoch: String,
        in copy: String
    ) async throws {
        let name = "statemachine.sqlite"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: "\(directory)/\(name)", toPath: "\(copy)/\(name)")
        let history = try History(directory: copy)
        #expect(history.snapshot == machine.snapshot)
        #expect(history.epoch == epoch)
        let all = try await history.all(after: 0).map(\.seq)
        #expect(all == Array(1...machine.snapshot.seq))
    }

    private static func size(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.size] as? Int) ?? 0
    }

    /// A history that takes a log of 8 MiB for a long one, and its directory.
    private static func withShortLog(
        _ body: (History, _ path: String) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/a"
            let history = try History(
                directory: path,
                options: HistoryOptions(),
                boot: nil,
                longLog: 8 << 20
            )
            try await body(history, path)
        }
    }

    /// Makes a change large, so that few fill a log.
    private static let cause = String(repeating: "x", count: 200_000)

    @Test func aLogThatGrowsIsToldOfAndShrinksWhenItsReaderHasGone() async throws {
        try await Self.withShortLog { history, path in
            let told = Recorder<String>()
            history.history.onTrouble { work, why in
                #expect(work == .tidying)
                told.record(why ?? "well")
            }
            let machine = history.makeMachine()
            func assign(_ count: Int) throws {
                for _ in 1...count {
                    try machine.assign(.ready(machine.state != .ready(true)), cause: Self.cause)
                }
            }
            try assign(100)
            #expect(told.heard == [])

            let log = "\(path)/statemachine.sqlite-wal"
            let reader = try Database("\(path)/statemachine.sqlite")
            try reader.execute("BEGIN; SELECT count(*) FROM change")
            try assign(150)
            #expect(try Self.size(of: log) > 24 << 20)
            #expect(told.heard.count == 1)
            #expect(told.heard.first?.contains("beyond 8 MiB") == true)

            try reader.execute("COMMIT")
            try assign(3)
            #expect(try Self.size(of: log) <= 16 << 20)
            #expect(told.heard.count == 2)
            #expect(told.heard.last == "well")
        }
    }

    /// At each moment something of the log is being read, and never for long.
    @Test func aLogThatIsReadInTurnsDoesNotGrow() async throws {
        try await Self.withShortLog { history, path in
            let told = Recorder<String>()
            history.history.onTrouble { told.record("\($0): \($1 ?? "well")") }
            let (turns, end) = (Recorder<Int>(), Recorder<Bool>())
            let machine = history.makeMachine()
            try await machine.assign(.ready(true))
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await blocking {
                        var readers = try (0..<2).map { _ in
                            try Database("\(path)/statemachine.sqlite", .readOnly)
                        }
                        let begin = "BEGIN; SELECT count(*) FROM change"
                        let work = """
                            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 50000)
                            SELECT count(*) FROM c
                            """
                        try readers[0].execute(begin)
                        while end.heard.isEmpty {
                            try readers[1].execute(begin)
                            try readers[0].execute("COMMIT")
                            try readers[1].execute(work)
                            readers.swapAt(0, 1)
                            turns.record(1)
                        }
                    }
                }
                defer { end.record(true) }
                while turns.heard.isEmpty { await Task.yield() }
                // 32 MiB, of which each change reads none that the one before it wrote.
                for _ in 1...150 {
                    try await machine.assign(
                        .ready(machine.state != .ready(true)),
                        cause: Self.cause
                    )
                }
                #expect(turns.heard.count > 1)
                #expect(try Self.size(of: "\(path)/statemachine.sqlite-wal") <= 8 << 20)
                #expect(told.heard == [])
            }
        }
    }
}

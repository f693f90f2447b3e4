import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import StateMachineSQLite
import TestSupport
import Testing

/// A program that reads the database for a long time, so that the write-ahead log grows.
@Suite(.bounded)
struct LogLengthTests {
    private static func size(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.size] as? Int) ?? 0
    }

    @Test
    func aLogThatGrowsIsToldOfAndShrinksWhenItsReaderHasGone() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/a"
            let history = try History(
                directory: path,
                options: HistoryOptions(),
                boot: nil,
                longLog: 8 << 20
            )
            let told = Recorder<String>()
            history.history.onTrouble { work, why in
                #expect(work == .tidying)
                told.record(why ?? "well")
            }
            let machine = history.makeMachine()
            let cause = String(repeating: "x", count: 200_000)
            func assign(_ count: Int) throws {
                for _ in 1...count {
                    try machine.assign(.ready(!machine.state.isReady), cause: cause)
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
}

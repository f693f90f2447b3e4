import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import StateMachineSQLite
import TestSupport
import Testing

@Suite(.bounded) struct OpeningTests {
    @Test func theDirectoryIsMadeForItsOwnerOnly() async throws {
        try await withHistory { _, path in
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
        }
    }

    @Test func aSecondHistoryInADirectoryIsRefused() async throws {
        try await withHistory { _, path in
            let error = try openingError(path)
            #expect(error.contains("\(path)/statemachine.lock is locked"))
            #expect(error.contains("(pid \(getpid()))"))
        }
    }

    /// By a mistake nothing is closed that other programs use.
    @Test func whatIsAnothersIsLeftAsItIs() async throws {
        try await withTemporaryDirectory { directory in
            let (other, file) = ("\(directory)/other", "\(directory)/other/notes")
            try FileManager.default.createDirectory(
                atPath: other,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o755]
            )
            try Data("notes".utf8).write(to: URL(filePath: file))
            for (path, why) in [(file, "is not a directory"), (other, "has other files")] {
                let before = try FileManager.default.attributesOfItem(atPath: path)
                #expect(try openingError(path).contains(why))
                let after = try FileManager.default.attributesOfItem(atPath: path)
                #expect(
                    before[.posixPermissions] as? Int == after[.posixPermissions] as? Int,
                    "\(path)"
                )
            }
            try FileManager.default.removeItem(atPath: file)
            let history = try History(directory: other)
            let closed = try FileManager.default.attributesOfItem(atPath: other)
            #expect(history.loss == nil && closed[.posixPermissions] as? Int == 0o700)
        }
    }

    @Test func aDirectoryThatCannotBeMadeIsNamed() throws {
        #expect(try openingError("/proc/none/a").contains("state directory /proc/none/a"))
    }

    @Test(arguments: [0, 100]) func aBrokenDatabaseIsSetAside(_ intactBytes: Int) async throws {
        try await withLeftovers(of: 1) { copy, epoch in
            try other(copy, "PRAGMA wal_checkpoint(TRUNCATE)")
            let file = try FileHandle(forUpdating: URL(filePath: "\(copy)/statemachine.sqlite"))
            let length = try file.seekToEnd()
            try file.seek(toOffset: UInt64(intactBytes))
            let noise = [UInt8](repeating: 0xa5, count: Int(length) - intactBytes)
            try file.write(contentsOf: Data(noise))
            try file.close()
            let again = try History(directory: copy)
            #expect(again.epoch != epoch)
            #expect(again.snapshot.seq == 0)
            guard case .corrupt(let aside) = again.loss else {
                Issue.record("set aside: \(String(describing: again.loss))")
                return
            }
            let kept = try Data(contentsOf: URL(filePath: aside))
            #expect(kept.suffix(Int(length) - intactBytes) == Data(noise))
        }
    }

    @Test(arguments: ["state = 'gone'", #"data = '{"value":7}'"#])
    func aStateThatIsNotKnownIsRefused(_ change: String) async throws {
        try await withLeftovers(of: 1) { copy, _ in
            try other(copy, "UPDATE change SET \(change)")
            let error = try openingError(copy)
            #expect(error.contains("\(copy)/statemachine.sqlite"))
            #expect(error.contains("does not know"))
        }
    }

    @Test func theReadableViewIsWhatItSays() async throws {
        try await withHistory { history, path in
            let machine = history.makeMachine()
            try await machine.assign(.ready(true), cause: "why")
            let rows = try Database("\(path)/statemachine.sqlite")
                .all("SELECT seq || time || cause FROM history WHERE seq") { $0.text(0) }
            #expect(rows == ["1\(machine.snapshot.at.rfc3339)why"])
        }
    }
}

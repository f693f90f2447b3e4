import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import TestSupport
import Testing

/// An older copy of the database is put back: the seqs that clients saw after it are invalid.
@Suite(.bounded) struct EpochTests {
    @Test func aCopyThatEndsBeforeACleanStopBeginsAnEpoch() async throws {
        try await withHistory { history, first in
            let copy = try Self.changeTwice(history, in: first)
            #expect(await history.settled() == nil)

            let second = try leftovers(of: first)
            try Self.putBack(copy, in: second)
            let again = try History(directory: second)
            #expect(again.loss == .restored(database: "\(second)/statemachine.sqlite"))
            #expect(again.epoch != history.epoch)
            #expect(again.snapshot.seq == 1)

            // The loss has been reported; the same copy put back again begins yet another epoch.
            let third = try leftovers(of: second)
            let onceMore = try leftovers(of: third)
            let last = try History(directory: third)
            #expect(last.loss == nil)
            #expect(last.epoch == again.epoch)
            try Self.putBack(copy, in: onceMore)
            let other = try History(directory: onceMore)
            #expect(other.loss == .restored(database: "\(onceMore)/statemachine.sqlite"))
            #expect(![history.epoch, again.epoch].contains(other.epoch))
        }
    }

    @Test func aCopyThatEndsBeforeTheLastStartBeginsAnEpoch() async throws {
        try await withHistory { history, first in
            let copy = try Self.changeTwice(history, in: first)
            let second = try leftovers(of: first)
            let killed = try History(directory: second)
            #expect(killed.loss == nil)
            #expect(killed.epoch == history.epoch)

            let third = try leftovers(of: second)
            try Self.putBack(copy, in: third)
            let again = try History(directory: third)
            #expect(again.loss == .restored(database: "\(third)/statemachine.sqlite"))
            #expect(again.epoch != history.epoch)
        }
    }

    @Test func aCopyThatWasNotSettledBeginsAnEpochAndIsSaidToBeOne() async throws {
        try await withTemporaryDirectory { directory in
            let first = "\(directory)/a"
            let history = try History(directory: first, options: HistoryOptions(), boot: "1")
            let copy = try Self.changeTwice(history, in: first)
            #expect(await history.settled() == nil)
            let second = try leftovers(of: first)
            try Self.putBack(copy, in: second)
            let again = try History(directory: second, options: HistoryOptions(), boot: "2")
            #expect(again.loss == .restored(database: "\(second)/statemachine.sqlite"))
            #expect(again.epoch != history.epoch)
        }
    }

    @Test(arguments: [
        "", "4711\n", "4711\nEPOCH\n", "4711\nEPOCH\n9", "4711\nEPOCH\n9x\n", "4711\nEPOC",
        "      4711\nEPOCH\n1\n",
    ])
    func aNoteThatIsOldOrCutShortIsNoReasonForAnEpoch(_ note: String) async throws {
        try await withHistory { history, first in
            try await history.makeMachine().change(2)
            let second = try leftovers(of: first)
            try Data(note.replacing("EPOCH", with: history.epoch).utf8)
                .write(to: URL(filePath: "\(second)/statemachine.lock"))
            let again = try History(directory: second)
            #expect(again.loss == nil)
            #expect(again.epoch == history.epoch)
            let noted = try String(contentsOfFile: "\(second)/statemachine.lock", encoding: .utf8)
            #expect(noted.split(separator: "\n").dropFirst() == [history.epoch[...], "2"])
        }
    }

    /// Makes two changes; returns a copy of the directory after the first.
    private static func changeTwice(_ history: History, in directory: String) throws -> String {
        let machine = history.makeMachine()
        try machine.assign(.ready(true))
        let copy = try leftovers(of: directory)
        try machine.assign(.ready(false))
        return copy
    }

    /// Replaces a directory's database by another directory's.
    private static func putBack(_ copy: String, in directory: String) throws {
        for suffix in ["", "-wal", "-shm"] {
            let name = "statemachine.sqlite\(suffix)"
            try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            try FileManager.default.copyItem(
                atPath: "\(copy)/\(name)",
                toPath: "\(directory)/\(name)"
            )
        }
    }
}

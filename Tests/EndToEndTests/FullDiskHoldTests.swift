import Subprocess
import TestSupport
import Testing

/// A hold that was released while the disk was full, and taken again.
@Suite(.bounded, .enabled("needs to mount a file system") { try await SmallDisk.isAllowed() })
struct FullDiskHoldTests {
    private static let hold =
        #"{"op":"hold","before":["ready"],"as":"freeze","untilMs":3600000}"#
    private static let release = #"{"op":"release","as":"freeze"}"#

    /// After a word that was kept, nothing older of that name comes back, whatever was refused before.
    @Test(arguments: [true, false]) func theLastWordCounts(isReleased: Bool) async throws {
        try await SmallDisk.with { disk in
            let numbers = Recorder<Int>()
            try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                let client = try daemon.connect(\.control)
                _ = try await client.ask(Self.hold)
                try await disk.fill()
                let refused = try await client.ask(Self.release)
                #expect(refused.error == "internal", "\(refused)")
                #expect(refused.string("message")?.contains("released, but back if") == true)
                #expect(try await client.ask(Self.hold).error == "internal")
                try await disk.empty()
                numbers.record(try #require(try await client.ask(Self.hold).int("hold")))
                #expect(numbers.heard[0] > 1)
                if isReleased { #expect(try await client.ask(Self.release).ok == true) }
                try daemon.send(.kill)
            }
            try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                let client = try daemon.connect(\.control)
                let holds = try await client.ask("stats").items("holds") ?? []
                let found = holds.compactMap { $0.int("hold") }
                #expect(found == (isReleased ? [] : numbers.heard))
                let answer = try await client.ask("set ready value=true")
                #expect(answer.error == (isReleased ? nil : "denied"), "\(answer)")
            }
        }
    }

    /// What could not be recorded, and is asked for by nobody any more, is recorded with what comes next.
    @Test func aReleaseIsRecordedWithTheNextChange() async throws {
        try await SmallDisk.with { disk in
            try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                let client = try daemon.connect(\.control)
                #expect(try await client.ask(Self.hold).int("hold") == 1)
                try await disk.fill()
                #expect(try await client.ask(Self.release).error == "internal")
                try await disk.empty()
                #expect(try await client.ask("set ready value=true").ok == true)
                try daemon.send(.kill)
            }
            try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                let stats = try await daemon.ask(\.control, "stats")
                #expect(!stats.has("holds"))
            }
        }
    }
}

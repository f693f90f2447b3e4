import Foundation
import Subprocess
import TestSupport
import Testing

/// Deadlines of declared machines with the kernel's clocks, and daemons that are killed.
@Suite(.bounded) struct DeadlineTests {
    private static let lamp = """
        start: dark
        events: {press: {}, move: {}}
        states:
          dark: {when: {press: bright}}
          bright:
            fields: {level: {type: integer, default: 100}}
            when: {move: stay, press: again}
            after: {DELAY: dark}
        """

    /// Runs a daemon of a lamp that goes out after that time, in a directory that others have used.
    private func run(
        _ delay: String,
        in directory: String,
        through wrapper: [String] = [],
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        _ = try await DaemonProcess.run(
            in: directory,
            machine: Self.lamp.replacing("DELAY", with: delay),
            isDurable: true,
            environment: ["BOOT_ID": "b007"],
            through: wrapper,
            body
        )
    }

    @Test func aKilledDaemonsDeadlineCountsFromItsBeginning() async throws {
        try await withTemporaryDirectory { directory in
            let begun = ContinuousClock.now
            let (told, tell) = AsyncStream.makeStream(of: String.self)
            try await self.run("8s", in: directory) { daemon in
                let client = try daemon.connect(\.control)
                // The newest change is not the one that began the stay.
                try client.send("send press\nupdate level=50")
                let pressed = try await client.next()
                let updated = try await client.next()
                #expect(pressed.seq == 1 && updated.seq == 2 && updated.int("stay") == 1)
                tell.yield(try #require(pressed.item("due")?.string("at")))
                try await Task.sleep(for: .seconds(1))
                try daemon.send(.kill)
            }
            tell.finish()
            let due = await told.first { _ in true }
            try await self.run("8s", in: directory) { daemon in
                let watch = try daemon.connect(\.events)
                var found = try await watch.next()
                if found.state == "bright" {
                    #expect(found.seq == 2 && found.int("stay") == 1)
                    #expect(found.item("due")?.string("at") == due)
                    found = try await watch.next()
                }
                #expect(found.state == "dark" && found.seq == 3)
                #expect(ContinuousClock.now - begun >= .seconds(8))
                #expect(try #require(due) <= found.string("at") ?? "")
            }
        }
    }

    /// In a time namespace with an uptime one hour ahead, as if the computer had slept.
    private static let asleep = ["--time", "--boottime", "3600"]

    @Test(
        .enabled("needs root and a kernel with time namespaces") {
            let tried = try? await runTool(.name("unshare"), Self.asleep + ["true"])
            return tried?.status == .exited(0)
        }
    )
    func timeInWhichTheMachineSleptCounts() async throws {
        try await withTemporaryDirectory { directory in
            try await self.run("30min", in: directory) { daemon in
                _ = try await daemon.ask(\.control, "send press")
                try daemon.send(.kill)
            }
            try await self.run("30min", in: directory, through: ["unshare"] + Self.asleep) {
                daemon in
                let wait = try daemon.connect(\.control)
                let moved = try await wait.ask(#"{"op":"wait","until":["dark"]}"#)
                #expect(moved.seq == 2)
            }
        }
    }

    @Test func tooManyMovesOfItsOwnAreInTheStatus() async throws {
        let text = """
            start: tick
            moves: {most: 5, in: 1min}
            states:
              tick: {after: {10ms: tock}}
              tock: {after: {10ms: tick}}
            """
        try await DaemonProcess.run(machine: text, isDurable: true) { daemon in
            try await daemon.notify.wait(containing: "automatic transitions are suspended")
            let got = try await daemon.ask(\.control, "get")
            #expect(got.seq == 5 && got.item("due")?.int("leftMs") == 0)
            // A reload lifts the suspension, for five more moves.
            try daemon.send(.terminalClosed)
            let cursor = try #require(got.string("cursor"))
            let watch = try daemon.connect(\.events)
            try watch.send(#"{"op":"watch","since":"\#(cursor)"}"#)
            while try await watch.next().seq != 10 {}
        }
    }
}

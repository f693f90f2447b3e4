import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// statectl top on a terminal, which script(1) makes, and without one.
@Suite(.bounded) struct TopTests {
    /// Runs `top` on an 80 by 24 terminal, where `body` sees its output and types; returns how it
    /// ended.
    private func onTerminal(
        _ daemon: DaemonProcess,
        _ body: @escaping @Sendable (Screen) async throws -> Void
    ) async throws -> TerminationStatus {
        let statectl = try BuiltProduct.statectl.path
        let (reading, writing) = try FileDescriptor.pipe()
        let command =
            "stty cols 80 rows 24; exec \(statectl) --runtime-directory \(daemon.directory) --utc top"
        let result = try await Subprocess.run(
            .name("script"),
            arguments: ["-qec", command, "/dev/null"],
            environment: .inherit.updating(["TERM": "xterm"]),
            input: .fileDescriptor(reading, closeAfterSpawningProcess: true),
            output: .sequence,
            error: .discarded
        ) { execution in
            let screen = Screen(
                output: execution.standardOutput.makeAsyncIterator(),
                keyboard: writing
            )
            do {
                try await body(screen)
                try writing.close()
                try await screen.finish()
            } catch {
                try? execution.send(signal: .kill)
                throw error
            }
        }
        return result.terminationStatus
    }

    /// Guarded state: all of it belongs to the one task that reads; that makes `@unchecked
    /// Sendable` true.
    private final class Screen: @unchecked Sendable {
        private var output: SubprocessOutputSequence.Iterator
        private let keyboard: FileDescriptor
        private(set) var text = ""

        init(output: SubprocessOutputSequence.Iterator, keyboard: FileDescriptor) {
            (self.output, self.keyboard) = (output, keyboard)
        }

        func see(_ wanted: String) async throws {
            while !self.text.contains(wanted) {
                guard try await self.more() else {
                    throw TestFailure("it ended without \(wanted): \(self.text)")
                }
            }
        }

        func type(_ key: String) throws { _ = try self.keyboard.writeAll(key.utf8) }

        func finish() async throws {
            while try await self.more() {}
        }

        private func more() async throws -> Bool {
            guard let bytes = try await self.output.next() else { return false }
            self.text += bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            return true
        }
    }

    @Test func itFollowsAMachineUntilQ() async throws {
        try await DaemonProcess.run { daemon in
            let ended = try await self.onTerminal(daemon) { screen in
                // The previous screen is saved, and the cursor hidden.
                try await screen.see("\u{1B}[?1049h\u{1B}[?25l")
                try await screen.see("ready")
                _ = try await daemon.ask(
                    \.control,
                    #"{"op":"set","state":"authentication","data":{"phase":"active"},"cause":"\u001b[2Jlogin"}"#
                )
                try await screen.see("phase: active")
                try await screen.see("\\u{1b}[2Jlogin")
                let client = try daemon.connect(\.control)
                _ = try await client.hold("ready", #""why":"the film""#)
                // No line announces a hold; the next refresh, a second later, shows it.
                try await screen.see("the film")
                try screen.type("q")
                try await screen.finish()
                #expect(screen.text.contains("\u{1B}[?25h\u{1B}[?1049l"))
            }
            #expect(ended == .exited(0))
        }
    }

    @Test func howAGuardHasVotedIsShown() async throws {
        try await DaemonProcess.run { daemon in
            let (guardian, setter) = (try daemon.connect(\.control), try daemon.connect(\.control))
            _ = try await guardian.ask(#"{"op":"guard","before":"ready","timeoutMs":60000}"#)
            for isAllowed in [true, false, true] {
                try setter.send(
                    #"{"op":"set","state":"ready","data":{"value":true},"reenter":true}"#
                )
                let question = try await guardian.next()
                let row = try #require(
                    try await daemon.ask(\.control, "stats").items("guards")?.first
                )
                #expect(row.bool("isAsked") == true)
                _ = try await guardian.vote(question, isAllowed)
                #expect(try await setter.next().ok == isAllowed)
            }
            let row = try #require(try await daemon.ask(\.control, "stats").items("guards")?.first)
            #expect(row.int("allowed") == 2 && row.int("denied") == 1 && !row.has("isAsked"))
            let status = try await daemon.statectl("status")
            #expect(status.output.contains(", allowed 2, denied 1"))
        }
    }

    @Test func whereThereIsNoTerminalItIsLines() async throws {
        try await DaemonProcess.run { daemon in
            let ended = try await daemon.withStatectl(["top"]) { top in
                #expect(try await top.next().hasSuffix("ready(false)"))
                _ = try await daemon.ask(\.control, "set ready true")
                #expect(try await top.next().contains("ready(true)"))
                try top.send(.terminate)
            }
            #expect(ended == .signaled(15))
        }
    }
}

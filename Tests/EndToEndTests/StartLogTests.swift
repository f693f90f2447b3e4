import Foundation
import Glibc
import TestSupport
import Testing

/// What a start logs: the changes it makes, and where it resumes.
@Suite(.bounded) struct StartLogTests {
    private static let old = """
        machine: coffee
        version: 3
        start: idle
        states:
          idle: {}
          brewing: {fields: {cups: integer}, after: {20ms: idle}}
          making: {fields: {cups: integer}}
        """

    /// Ends a run of the old file in `state`, and passes `body` the log of the next run, with the
    /// new `file`.
    private func withLog(
        after state: String,
        of file: String,
        _ body: @escaping @Sendable ([Substring]) throws -> Void
    ) async throws {
        try await withService(machine: Self.old, isDurable: true) { machine, daemon in
            _ = try await daemon.connect(\.control).ask("set \(state)")
            try await daemon.end(by: SIGKILL)
            try machine.write(file)
            let again = try await machine.start()
            try await again.wait(forErrors: "seq=2")
            again.send(SIGTERM)
            let (errors, status) = try await again.ended()
            #expect(status == 0)
            try body(errors.split(separator: "\n").filter { !$0.contains(" warning ") })
        }
    }

    @Test func whatAFileMakesOfTheLastStateIsLoggedFirst() async throws {
        let renamed = Self.old.replacing("  making: {", with: "  done: {was: making, ")
        try await self.withLog(after: "making cups=2", of: renamed) { lines in
            #expect(lines.count == 2, "\(lines)")
            let (change, ready) = (try #require(lines.first), try #require(lines.last))
            #expect(change.hasSuffix("transition"))
            for fact in [
                #"cause="declaration 3""#, "from=making(cups: 2)", "seq=2", "state=done(cups: 2)",
            ] {
                #expect(change.contains(fact), "\(change)")
            }
            #expect(ready.hasSuffix("ready"))
            for fact in ["machine=coffee", "seq=2", "since=20", "state=done(cups: 2)", "version=3"]
            {
                #expect(ready.contains(fact), "\(ready)")
            }
            #expect(ready.contains(#/declaration=[0-9a-f]{12} /#), "\(ready)")
        }
    }

    @Test func whereTheFileLeadsFromAStateThatIsGoneIsLoggedFirst() async throws {
        let dropped = """
            machine: coffee
            start: idle
            lost: [{if: tries>3, to: worn}, idle]
            fields: {tries: {type: integer, default: 0}}
            states: {idle: {}, worn: {}}

            """
        try await self.withLog(after: "making cups=2", of: dropped) { lines in
            #expect(lines.count == 2, "\(lines)")
            #expect(lines.first?.contains("from=making(cups: 2)") == true, "\(lines)")
            #expect(lines.first?.contains("state=idle") == true, "\(lines)")
            #expect(lines.last?.contains("state=idle") == true, "\(lines)")
        }
    }

    @Test func aDeadlineThatHasPassedIsLogged() async throws {
        try await withService(machine: Self.old, isDurable: true) { machine, daemon in
            try machine.write(Self.old.replacing("20ms", with: "1h"))
            try await machine.reload(daemon)
            _ = try await daemon.connect(\.control).ask("set brewing cups=1")
            try await daemon.end(by: SIGKILL)
            try machine.write(Self.old)
            let again = try await machine.start()
            try await again.wait(forErrors: #"cause="after 20ms""#)
            #expect(try await again.end() == 0)
        }
    }

    @Test func whatANewStartOfTheMachineDoesIsLoggedFirst() async throws {
        let text = "start: on\nboot: again\nstates: {on: {to: [on]}}\n"
        try await withIdleService(machine: text, isDurable: true) { machine in
            var said = ""
            for boot in ["a1", "a2"] {
                let daemon = try await machine.start(environment: ["BOOT_ID": boot])
                daemon.send(SIGTERM)
                said = try await daemon.ended().errors
            }
            let lines = said.split(separator: "\n").filter { !$0.contains(" warning ") }
            #expect(lines.count == 2, "\(said)")
            #expect(lines.first?.contains("cause=\"boot\"") == true, "\(said)")
            #expect(lines.last?.hasSuffix("ready") == true && said.contains("seq=1"), "\(said)")
        }
    }

    @Test func everyMistakeInTheFileIsALineOfItsOwn() async throws {
        let text = "start: on\nstates:\n  of: {to: [on], afer: {1s: of}}\n"
        try await withIdleService(machine: text) { machine in
            let (_, errors, status) = try await machine.refusal()
            #expect(status == 78)
            let lines = errors.split(separator: "\n")
            #expect(lines.count == 4, "\(errors)")
            for (line, place) in zip(lines, ["1:8", "3:13", "3:18"]) {
                #expect(line.contains("\(machine.file):\(place): "), "\(line)")
            }
            #expect(lines.last?.contains("problems=3") == true, "\(errors)")
        }
    }

    @Test func dataThatDoNotFitAreCalledThat() async throws {
        let narrow = Self.old.replacing(
            "making: {fields: {cups: integer}}",
            with: "making: {fields: {cups: {type: integer, max: 3}}}"
        )
        try await withService(machine: Self.old, isDurable: true) { machine, daemon in
            _ = try await daemon.connect(\.control).ask("set making cups=9")
            let refusal = try await machine.refuse(daemon, narrow)
            #expect(refusal.contains("the next start would fail too"), "\(refusal)")
            let other = try await machine.refuse(daemon, narrow + "\nlost: idle\n")
            #expect(other.contains(#""lost" applies only at a start"#), "\(other)")
            #expect(try await daemon.end() == 0)
            try machine.write(narrow)
            let (_, errors, status) = try await machine.refusal()
            #expect(status == 78)
            #expect(
                errors.contains("ends in a state whose data the machine's file does not allow"),
                "\(errors)"
            )
            #expect(errors.contains("allow it there, write"), "\(errors)")
            #expect(!errors.contains("that the machine's file does not have"), "\(errors)")
        }
    }
}

import Foundation
import Glibc
import TestSupport
import Testing

/// Requests that use names of states and fields that a newer file has dropped.
@Suite(.bounded)
struct RenamedStateTests {
    private static let stove = """
        start: off
        events: {power: {}}
        states:
          off: {when: {power: heating}}
          heating: {fields: {celsius: {type: integer, default: 20}}}
          cooling: {}
        """

    private static let renamed = """
        start: off
        events: {power: {}}
        states:
          off: {when: {power: warming}}
          warming: {was: heating, fields: {degrees: {type: integer, default: 20, was: celsius}}}
          cooling: {}
        """

    /// Renamed once more, with nothing left of the oldest names.
    private static let renamedAgain = renamed.replacing("was: heating", with: "was: warming")
        .replacing("warming:", with: "hot:").replacing("power: warming", with: "power: hot")
        .replacing(", was: celsius", with: "")

    @Test(
        arguments: [
            #"{"op":"hold","before":["heating"]}"#,
            #"{"op":"hold","before":["heating:celsius=20"]}"#,
            #"{"op":"guard","before":["heating:celsius=20"],"timeoutMs":60000}"#,
        ],
        [false, true]
    )
    func aHoldOrGuardFollowsARename(request: String, isDurable: Bool) async throws {
        try await withReloadedMachine(Self.stove, isDurable: isDurable) { machine, daemon in
            let voter = try daemon.connect(\.control)
            #expect(try await voter.ask(request).ok == true)
            for file in [Self.renamed, Self.renamedAgain] {
                try await machine.reload(daemon, file)
                let client = try daemon.connect(\.control)
                if request.contains("guard") {
                    try client.send("send power")
                    let ask = try await voter.next()
                    #expect(ask.type == "ask")
                    #expect(ask.item("to")?.state == (file == Self.renamed ? "warming" : "hot"))
                    let number = try #require(ask.int("ask"))
                    let vote = #"{"op":"vote","ask":\#(number),"allow":false}"#
                    #expect(try await voter.ask(vote).ok == true)
                    #expect(try await client.next().error == "denied")
                } else {
                    #expect(try await client.ask("send power").error == "denied")
                }
            }
            #expect(try await machine.end(daemon) == 0)
        }
    }

    @Test
    func watchesAndWaitsFollowARename() async throws {
        try await withReloadedMachine(Self.stove) { machine, daemon in
            let watch = try daemon.connect(\.control)
            _ = try await watch.ask(#"{"op":"watch","only":["heating:celsius=20"]}"#)
            let wait = try daemon.connect(\.control)
            try wait.send(#"{"op":"wait","until":["heating:celsius=20"]}"#)
            #expect(try await wait.ask("ping").ok == true)
            try await machine.reload(daemon, Self.renamed)
            #expect(try await watch.next().type == "declared")
            #expect(try await daemon.connect(\.control).ask("send power").state == "warming")
            let reached = try await wait.next()
            #expect(reached.ok == true && reached.string("matched") == "heating:celsius=20")
            #expect(try await watch.next().state == "warming")
            #expect(try await machine.end(daemon) == 0)
        }
    }

    @Test
    func aHoldFollowsARenameOverARestart() async throws {
        try await withReloadedMachine(Self.stove, isDurable: true) { machine, daemon in
            let voter = try daemon.connect(\.control)
            #expect(try await voter.ask(#"{"op":"hold","before":["heating"]}"#).ok == true)
            daemon.send(SIGUSR2)
            #expect(try await daemon.ended().status == 0)
            try machine.write(Self.renamed)
            let next = try await machine.start()
            #expect(try await next.connect(\.control).ask("send power").error == "denied")
            #expect(try await machine.end(next) == 0)
        }
    }

    @Test
    func aHoldOnWhatIsGoneIsToldOf() async throws {
        try await withReloadedMachine(Self.stove) { machine, daemon in
            let voter = try daemon.connect(\.control)
            _ = try await voter.ask(#"{"op":"hold","before":["cooling"]}"#)
            _ = try await voter.ask(#"{"op":"hold","before":["heating"]}"#)
            try await machine.reload(
                daemon,
                Self.renamed.replacing("cooling: {}", with: "cold: {}")
            )
            try await daemon.wait(forErrors: "a hold or guard matches no state")
            daemon.send(SIGTERM)
            let (errors, status) = try await daemon.ended()
            #expect(status == 0)
            #expect(errors.contains(#"before="cooling""#), "\(errors)")
            #expect(!errors.contains(#"before="heating""#))
        }
    }

    @Test
    func thePastIsFoundByOldNamesAndNew() async throws {
        try await withReloadedMachine(Self.stove, isDurable: true) { machine, daemon in
            let client = try daemon.connect(\.control)
            _ = try await client.ask("send power")
            try await machine.reload(daemon, Self.renamed)
            for name in ["heating", "warming"] {
                let past = try daemon.connect(\.control)
                try past.send(#"{"op":"history","only":["\#(name)"]}"#)
                #expect(try await past.next().state == "heating")
                #expect(try await past.next().state == "warming")
                #expect(try await past.next().int("count") == 2)
            }
            let refused = try await client.ask(#"{"op":"wait","until":["heating"]}"#)
            #expect(refused.string("message")?.contains("it is called warming now") == true)
            #expect(try await machine.end(daemon) == 0)
        }
    }
}

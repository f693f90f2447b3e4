import StateMachineCore
import StateMachineServer
import TestSupport
import Testing

/// A server sends what the specification shows: byte for byte where nothing depends on the moment,
/// otherwise except for numbers, times and cursors.
@Suite(.bounded)
struct ExampleTests {
    @Test
    func aDescriptionAndHelpAreTheExamplesByteForByte() async throws {
        let examples = try ExampleLines("descriptions").lines
        try await ExampleDaemon.run { daemon in
            let client = try daemon.connect()
            let answers = [try await client.ask("describe"), try await client.ask("help")]
            #expect(answers.map(\.description) == examples)
        }
    }

    @Test
    func aRequestThatCannotBeMetIsRefusedAsShown() async throws {
        let examples = try ExampleLines("replies")
        try await ExampleDaemon.run(.authentication(.active)) { daemon in
            let client = try daemon.connect()
            let events = try daemon.connect("events")
            _ = try await events.next()
            for (line, error) in [
                (
                    #"{"op":"set","id":4,"state":"authentication","data":{"phase":"idle"},"ifSeq":9}"#,
                    "conflict"
                ),
                (#"{"op":"release","id":8,"hold":99}"#, "not-found"),
                (#"{"op":"vote","id":10,"ask":99,"allow":true}"#, "not-found"),
                ("unwatch", "not-found"),
            ] {
                let refusal = try await client.ask(line)
                #expect(refusal.error == error)
                #expect(examples.show(refusal), "\(refusal)")
            }
            let refusal = try await events.ask(#"{"op":"set","id":4,"state":"ready"}"#)
            #expect(refusal.error == "forbidden")
            #expect(examples.show(refusal), "\(refusal)")
        }
    }

    @Test
    func aWaitIsEvaluatedAsShown() async throws {
        let examples = try ExampleLines("replies")
        try await ExampleDaemon.run(.authentication(.failure)) { daemon in
            let client = try daemon.connect()
            let wait = #"{"op":"wait","id":3,"until":["ready:value=true"],"#
            for (rest, error) in [
                (#""timeoutMs":0}"#, "timeout"),
                (#""timeoutMs":0,"since":"7f3a9c:0"}"#, "timeout"),
                (#""fail":["authentication:phase=failure"]}"#, "failed-state"),
            ] {
                let refusal = try await client.ask(wait + rest)
                #expect(refusal.error == error)
                #expect(examples.show(refusal), "\(refusal)")
            }
            try client.send(wait + #""timeoutMs":30000}"#)
            daemon.machine.state = .ready(true)
            let reached = try await client.next()
            #expect(reached.string("matched") == "ready:value=true")
            #expect(examples.show(reached), "\(reached)")
        }
    }

    @Test(arguments: [
        (#"{"op":"hold","id":6,"before":["ready"]}"#, 8),
        (#"{"op":"guard","id":9,"before":["ready"]}"#, 8),
        (#"{"op":"wait","id":3,"until":["ready"]}"#, 32),
        // Each watch has an id of its own.
        (#"{"op":"watch","id":NUMBER}"#, 8),
    ])
    func whatAConnectionMayHaveIsLimitedAsShown(line: String, limit: Int) async throws {
        let examples = try ExampleLines("replies")
        try await ExampleDaemon.run(.authentication(.active)) { daemon in
            let client = try daemon.connect()
            for number in 0...limit {
                try client.send(line.replacing("NUMBER", with: "\(number + 1)"))
            }
            var refusal = try await client.next()
            while refusal.ok != false { refusal = try await client.next() }
            #expect(refusal.error == "limit")
            #expect(examples.show(refusal), "\(refusal)")
        }
    }

    @Test
    func aConnectionWithoutAPlaceIsTurnedAwayAsShown() async throws {
        let examples = try ExampleLines("watches")
        var limits = ServerLimits()
        limits.connections = 1
        try await ExampleDaemon.run(limits: limits) { daemon in
            let client = try daemon.connect()
            #expect(try await client.ask("ping").ok == true)
            let farewell = try await daemon.connect().rest()
            #expect(farewell.map { $0.string("limit") } == ["connections"])
            #expect(farewell.allSatisfy(examples.show))
        }
    }

    @Test
    func statsAndHistoryAreAnsweredAsShown() async throws {
        let examples = try ExampleLines("replies", "watches")
        try await ExampleDaemon.run(.authentication(.active)) { daemon in
            let client = try daemon.connect()
            daemon.machine.state = .ready(true)
            try client.send(#"{"op":"history","id":12}"#)
            for type in ["change", "reply"] {
                let line = try await client.next()
                #expect(line.type == type)
                #expect(examples.show(line), "\(line)")
            }
            let events = try daemon.connect("events")
            _ = try await events.next()
            // Connections come in any order, and the example shows one.
            let asked = [
                try await client.ask(#"{"op":"stats","id":13}"#),
                try await client.ask(#"{"op":"stats","id":13}"#),
            ]
            let swapped = try asked.map { try JSONLine(Self.swappingDoors(in: $0.description)) }
            #expect((asked + swapped).contains(where: examples.show), "\(asked)")
        }
    }

    private static func swappingDoors(in line: String) -> String {
        line.replacing("control", with: "?").replacing("events", with: "control")
            .replacing("?", with: "events")
    }
}

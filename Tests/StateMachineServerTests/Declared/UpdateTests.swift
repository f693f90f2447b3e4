import StateMachineCore
import TestSupport
import Testing

/// What an update adds, and on which conditions.
@Suite(.bounded)
struct UpdateTests {
    private static let machine = """
        start: working
        to: [working, resting]
        states:
          working:
            fields:
              tries: {type: integer, default: 0, min: 0, max: 10}
              load: {type: number, default: 0.5}
              far: {type: integer, default: 9223372036854775807}
              left: {type: integer, optional: true}
              note: {type: string, default: a}
          resting: {}
        """

    private func run(
        _ body: @escaping @Sendable (LineSocket) async throws -> Void
    ) async throws {
        try await DeclaredDaemon.run(Self.machine, state: nil, clock: ManualStayClock()) { daemon in
            try await body(try daemon.connect())
        }
    }

    @Test
    func whatAnUpdateMayAddUpToIsDescribed() async throws {
        try await self.run { client in
            let described = try await client.ask("describe").description
            let tries = #""tries":{"type":"integer","min":0,"max":10}"#
            #expect(described.contains(tries), "\(described)")
            #expect(described.contains(#""load":{"type":"number"}"#), "\(described)")
        }
    }

    @Test(arguments: [
        (#"{"op":"update","add":{"tries":3}}"#, "tries", "3"),
        (#"{"op":"update","add":{"tries":3},"data":{"note":"b"}}"#, "tries", "3"),
        (#"{"op":"update","add":{"load":0.25}}"#, "load", "0.75"),
        (#"{"op":"update","add":{"load":-1}}"#, "load", "-0.5"),
        ("update tries+=2 note=b", "tries", "2"),
        ("update load+=-0.5", "load", "0.0"),
    ])
    func anAmountIsAddedToThePresentValue(line: String, field: String, sum: String) async throws {
        try await self.run { client in
            let answer = try await client.ask(line)
            #expect(answer.bool("changed") == true, "\(answer)")
            #expect(answer.description.contains("\"\(field)\":\(sum)"), "\(answer)")
        }
    }

    @Test(arguments: [
        (#"{"op":"update","add":{"tries":11}}"#, "bad-data", "tries=11: must be at most 10"),
        (#"{"op":"update","add":{"tries":-1}}"#, "bad-data", "tries=-1: must be at least 0"),
        (#"{"op":"update","add":{"tries":0.5}}"#, "bad-data", "tries+=0.5: add a whole number"),
        (
            #"{"op":"update","add":{"far":1}}"#, "bad-data",
            "far+=1: the field is 9223372036854775807, and the sum is larger than any number here can be"
        ),
        (
            #"{"op":"update","add":{"left":1}}"#, "bad-data",
            "left+=1: left has no value; set it first"
        ),
        (
            #"{"op":"update","add":{"note":1}}"#, "bad-data",
            "note+=1: note is a string, not a number"
        ),
        (
            #"{"op":"update","add":{"tires":1}}"#, "bad-data",
            #""working" has no field "tires"; did you mean tries?"#
        ),
        (
            #"{"op":"update","add":{"tries":"1"}}"#, "bad-request",
            #"add must be an object of numbers, not {"tries":"1"}"#
        ),
        (
            #"{"op":"update","add":{"tries":1},"data":{"tries":1}}"#, "bad-request",
            #""tries" is both set and added to; give it once"#
        ),
        (
            #"{"op":"update","add":{"tries":1},"words":{"tries":"1"}}"#, "bad-request",
            #""tries" is both set and added to; give it once"#
        ),
        (
            "update tries+=one", "bad-request",
            #""tries+=one" in update needs a number after "+=", like 1 or -0.5"#
        ),
        ("update tries+=1 tries=1", "bad-request", #""tries" is given twice in update"#),
    ])
    func whatCannotBeAddedChangesNothing(
        line: String,
        error: String,
        message: String
    ) async throws {
        try await self.run { client in
            let answer = try await client.ask(line)
            #expect(answer.error == error && answer.string("message") == message, "\(answer)")
            #expect(try await client.ask("get").seq == 0)
        }
    }

    @Test(arguments: [
        (#""ifSeq":1"#, true), (#""ifSeq":0"#, false), (#""ifState":"working:tries=1""#, true),
        (#""ifState":["!working:tries=1"]"#, false), (#""ifState":"resting","ifSeq":1"#, false),
        (#""ifStay":0,"ifSeq":1"#, true),
    ])
    func anUpdateIsMadeOnlyOnItsConditions(condition: String, isMade: Bool) async throws {
        try await self.run { client in
            _ = try await client.ask("update tries+=1")
            let line = #"{"op":"update","add":{"tries":1},\#(condition)}"#
            let answer = try await client.ask(line)
            #expect(answer.ok == isMade)
            #expect(answer.error == (isMade ? nil : "conflict"))
            #expect(try await client.ask("get").item("data")?.int("tries") == (isMade ? 2 : 1))
        }
    }
}

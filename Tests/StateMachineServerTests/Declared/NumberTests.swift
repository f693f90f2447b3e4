import Foundation
import StateMachineProtocol
import StateMachineSQLite
import TestSupport
import Testing

@testable import StateMachineServer

/// Numbers that no double holds: they are refused wherever they are given, and shown where an earlier version has
/// taken them.
@Suite(.bounded) struct NumberTests {
    private static let machine = """
        start: idle
        to: [idle, busy]
        events: {fill: {ratio: {type: number, default: 1}, table: {type: object, optional: true}}}
        states:
          idle: {when: {fill: busy}}
          busy:
            fields: {ratio: {type: number, default: 1}, table: {type: object, optional: true}}
            when: {fill: busy}
        """

    /// Numbers that are too large, the last by the least that there is.
    private static let infinite = [
        "1e400", "-1e400", "1E+309", "1e99999999999999999999",
        "1" + String(repeating: "0", count: 5000), "1.7976931348623159e308",
    ]

    @Test(arguments: infinite) func oneIsRefusedInWhateverFieldOrObject(number: String) async throws
    {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let client = try daemon.connect()
            #expect(try await client.ask("set busy").ok == true)
            let values = [
                #""data":{"ratio":\#(number)}"#, #""data":{"table":{"a":[{"b":\#(number)}]}}"#,
                #""words":{"ratio":"\#(number)"}"#, #""words":{"table":"{\"a\":\#(number)}"}"#,
            ]
            let calls = ["\"set\",\"state\":\"busy\"", "\"send\",\"event\":\"fill\"", "\"update\""]
            for call in calls {
                for value in values {
                    let refused = try await client.ask("{\"op\":\(call),\(value)}")
                    #expect(refused.error == "bad-data", "\(refused)")
                    let message = refused.string("message")
                    #expect(message?.hasSuffix("a number must be below 1.8e308 in size") == true)
                }
            }
            let added = try await client.ask(#"{"op":"update","add":{"ratio":\#(number)}}"#)
            #expect(added.error == "bad-data")
            for words in ["set busy ratio=\(number)", "set busy table:={\"a\":\(number)}"] {
                #expect(try await client.ask(words).error == "bad-data")
            }
            let waited = try await client.ask(#"{"op":"wait","until":["busy:ratio=\#(number)"]}"#)
            #expect(waited.error == "bad-data")
            #expect(try await client.ask("get").seq == 1)
        }
    }

    @Test func whatADoubleHoldsIsTakenAsItIsWritten() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let client = try daemon.connect()
            for number in [
                "1.7976931348623157e308", "-1e308", "1e-400", "0e99999999999",
                "1" + String(repeating: "0", count: 308),
                "0.1" + String(repeating: "1", count: 5000),
            ] {
                let set =
                    #"{"op":"set","state":"busy","data":{"ratio":\#(number),"table":{"a":\#(number)}}}"#
                let answer = try await client.ask(set)
                #expect(answer.description.contains("\"ratio\":\(number),"), "\(answer)")
                #expect(answer.description.contains("{\"a\":\(number)}"), "\(answer)")
            }
        }
    }

    /// The record is one of a version that took it.
    @Test func oneThatIsRecordedIsShownAndTheMachineGoesOn() async throws {
        try await DeclaredMachine.with(Self.machine) { declared in
            let data = #"{"ratio":1e400,"table":{"a":1e400}}"#
            try await declared.run { daemon async throws in
                #expect(try await daemon.ask("set busy").ok == true)
            }
            try await DeclaredDaemon.awaitRelease(of: declared.state)
            let disk = try Database("\(declared.state)/statemachine.sqlite", timeout: .seconds(10))
            try disk.execute("UPDATE change SET data = '\(data)' WHERE seq = 1")
            try await declared.run { daemon async throws in
                let client = try daemon.connect()
                // As text: this platform's own reader takes no such number either.
                func ask(_ line: String) async throws -> String {
                    try client.send(line)
                    return try #require(try await client.nextLine())
                }
                let state = try await ask("get")
                #expect(
                    state.contains("\"seq\":1,") && state.contains("\"data\":\(data)"),
                    "\(state)"
                )
                let change = try await ask("history")
                #expect(change.contains("\"data\":\(data)"), "\(change)")
                #expect(try await client.next().int("count") == 1)
                // What is counted on from there has no place, and what is not given anew stays.
                let added = try await ask(#"{"op":"update","add":{"ratio":-1}}"#)
                #expect(added.contains(#""error":"bad-data""#), "\(added)")
                let filled = try await ask(#"{"op":"send","event":"fill","data":{"ratio":2}}"#)
                #expect(filled.contains(#"{"ratio":2,"table":{"a":1e400}}"#), "\(filled)")
                let updated = try await ask("update ratio=3")
                #expect(updated.contains(#"{"ratio":3,"table":{"a":1e400}}"#), "\(updated)")
            }
        }
    }
}

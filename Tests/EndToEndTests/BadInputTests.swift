import Foundation
import TestSupport
import Testing

/// Bad input gets an answer, and the connection goes on.
@Suite(.bounded)
struct BadInputTests {
    /// A line, and what its refusal says.
    struct Case: Sendable, CustomTestStringConvertible {
        let line: String
        let error: String
        let message: String
        var offset: Int?
        /// Lines sent before it, each of which succeeds.
        var before: [String] = []
        /// Whether it is sent to the read-only door.
        var isAtEvents = false

        var testDescription: String { self.line }
    }

    static let cases: [Case] = [
        Case(line: #"{"op":"get""#, error: "bad-json", message: "',' or '}'", offset: 11),
        Case(line: #"{"op":get}"#, error: "bad-json", message: "a value was expected", offset: 6),
        Case(
            line: #"{"op":"get"} x"#,
            error: "bad-json",
            message: "unexpected text after",
            offset: 13
        ),
        Case(line: "{\"op\":\"g\u{1}\"}", error: "bad-json", message: "control", offset: 8),
        Case(line: #"{}"#, error: "bad-request", message: #""op" is missing"#),
        Case(line: #"{"op":3}"#, error: "bad-request", message: "op must be a string"),
        Case(
            line: #"{"op":"got"}"#,
            error: "unknown-op",
            message: "known: get, set, send, update, watch"
        ),
        Case(line: "got", error: "unknown-op", message: "known: get, set, send, update, watch"),
        Case(line: #"{"op":"get","seq":1}"#, error: "bad-request", message: "known: op, id"),
        Case(line: #"{"op":"get","op":"get"}"#, error: "bad-request", message: "is given twice"),
        Case(line: #"{"op":"get","id":null}"#, error: "bad-request", message: "id must be"),
        Case(line: #"{"op":"get","id":9007199254740992}"#, error: "bad-request", message: "2^53"),
        Case(line: "get now", error: "bad-request", message: "takes no more words"),
        Case(line: "set", error: "bad-request", message: "set needs a state"),
        Case(line: "set rady value=true", error: "unknown-state", message: "did you mean ready?"),
        Case(line: "set ready", error: "bad-data", message: "needs data: value"),
        Case(line: "set ready value=3", error: "bad-data", message: "one of false, true"),
        Case(line: "set ready vale=true", error: "bad-data", message: "known: value"),
        Case(line: "set ready =value", error: "bad-request", message: "key=value"),
        Case(line: "set ready value", error: "bad-data", message: "one of false, true"),
        Case(line: "set authentication phase=done", error: "bad-data", message: #""failure""#),
        Case(
            line: #"{"op":"set","state":"ready","data":[true]}"#,
            error: "bad-data",
            message: "must be an object"
        ),
        Case(
            line: #"{"op":"set","state":"ready","data":{"value":true},"ifSeq":7}"#,
            error: "conflict",
            message: "expected seq 7"
        ),
        Case(
            line: #"{"op":"set","state":"ready","data":{"value":true},"ifState":"authentication"}"#,
            error: "conflict",
            message: "the state is ready(false) at seq 0"
        ),
        Case(
            line: #"{"op":"set","state":"ready","data":{"value":true},"cause":"\#(long)"}"#,
            error: "too-long",
            message: "256 bytes"
        ),
        Case(line: #"{"op":"watch","only":[]}"#, error: "bad-request", message: "is empty;"),
        Case(line: #"{"op":"watch","only":true}"#, error: "bad-request", message: "an array"),
        Case(line: #"{"op":"watch","only":"!x"}"#, error: "unknown-state", message: "known:"),
        Case(line: "watch rady", error: "unknown-state", message: "did you mean ready?"),
        Case(line: "wait ready:value=maybe", error: "bad-data", message: "one of false, true"),
        Case(line: "wait", error: "bad-request", message: "wait needs a pattern"),
        Case(
            line: #"{"op":"wait","until":["authentication"],"timeoutMs":0}"#,
            error: "timeout",
            message: "still ready(false) after 0 ms"
        ),
        Case(
            line: #"{"op":"wait","until":["authentication"],"fail":["ready"]}"#,
            error: "failed-state",
            message: "counts as failure"
        ),
        Case(
            line: "set ready value=true",
            error: "denied",
            message: "denied by hold 1 (held)",
            before: [#"{"op":"hold","before":["ready"]}"#]
        ),
        Case(
            line: #"{"op":"hold","before":["ready"]}"#,
            error: "limit",
            message: "8 holds, the most that it may have",
            before: Array(repeating: #"{"op":"hold","before":["ready"]}"#, count: 8)
        ),
        Case(
            line: "set ready value=true",
            error: "forbidden",
            message: "control.sock",
            isAtEvents: true
        ),
        Case(line: "release 4", error: "not-found", message: "no hold or guard 4"),
        Case(line: #"{"op":"unwatch","id":4}"#, error: "not-found", message: "no watch"),
    ]

    private static let long = String(repeating: "x", count: 257)

    @Test(arguments: cases)
    func aBadLineIsAnsweredAndTheConnectionGoesOn(bad: Case) async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let client = try daemon.connect(bad.isAtEvents ? \.events : \.control)
                if bad.isAtEvents { #expect(try await client.next().type == "state") }
                for line in bad.before { #expect(try await client.ask(line).ok == true) }
                let refusal = try await client.ask(bad.line)
                #expect(refusal.type == "reply")
                #expect(refusal.ok == false)
                #expect(refusal.error == bad.error)
                #expect(refusal.string("message")?.contains(bad.message) == true, "\(refusal)")
                #expect(refusal.int("offset") == bad.offset)
                let pong = try await client.ask("ping")
                #expect(pong.seq == 0)
            }
        }
    }

    /// Shows every error code except those that no line can cause here: `AppState` has no illegal
    /// transition (the embedded daemon's test has), after `shutting-down` there is no connection,
    /// `internal` is the daemon's own trouble (``HistoryFailureTests``), and `bad-file` is a reload's.
    @Test
    func everyErrorCodeIsShown() async throws {
        try await DaemonProcess.run { daemon in
            let described = try await daemon.ask(\.control, "describe")
            let shown = Set(Self.cases.map(\.error))
            let elsewhere: Set = ["illegal-transition", "shutting-down", "internal", "bad-file"]
            let codes = try #require(described.strings("errors"))
            #expect(Set(codes) == shown.union(elsewhere))
        }
    }

    @Test
    func theRefusalBearsTheIdOfTheRequest() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let client = try daemon.connect(\.control)
                let refusal = try await client.ask(#"{"op":"get","id":"a","nonsense":1}"#)
                #expect(refusal.keys == ["type", "id", "ok", "error", "message", "known"])
                #expect(refusal.string("id") == "a")
            }
        }
    }

    @Test
    func theEventsDoorChangesNothing() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let client = try daemon.connect(\.events)
                let first = try await client.next()
                #expect(first.type == "state")
                let refusal = try await client.ask("set ready value=true")
                #expect(refusal.error == "forbidden")
                let pong = try await client.ask("ping")
                #expect(pong.seq == 0)
            }
        }
    }

    @Test(arguments: [65_537, 200_000])
    func anOverlongLineEndsTheConnectionWithItsReason(length: Int) async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let client = try daemon.connect(\.control)
                try client.send("get")
                // The daemon may have closed the connection before it has read everything.
                try? client.send(raw: String(repeating: "x", count: length))
                let lines = [try await client.next(), try await client.next()]
                #expect(lines.map(\.type) == ["reply", "bye"])
                #expect(lines.last?.string("reason") == "too-long")
                // What was not read any more makes the end a reset.
                client.endInput()
                let rest = (try? await client.rest()) ?? []
                #expect(rest.isEmpty)
                let pong = try await daemon.ask(\.control, "ping")
                #expect(pong.ok == true)
            }
        }
    }

    @Test
    func theLongestLineIsTaken() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let client = try daemon.connect(\.control)
                let line = "get" + String(repeating: " ", count: 65_536 - 3)
                let reply = try await client.ask(line)
                #expect(reply.ok == true)
            }
        }
    }

    @Test
    func twoWatchesOfOneIdAreRefusedAndAnEndedOneMakesRoom() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let client = try daemon.connect(\.control)
                let lines = [
                    try await client.ask(#"{"op":"watch","id":1}"#),
                    try await client.ask(#"{"op":"watch","id":"1"}"#),
                    try await client.ask(#"{"op":"watch","id":1}"#),
                    try await client.ask(#"{"op":"unwatch","id":1}"#),
                    try await client.ask(#"{"op":"watch","id":1}"#),
                ]
                #expect(lines.map(\.type) == ["state", "state", "reply", "reply", "state"])
                #expect(lines.map(\.error) == [nil, nil, "bad-request", nil, nil])
            }
        }
    }

    @Test
    func watchesAndWaitsHaveTheirLimits() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let client = try daemon.connect(\.control)
                for id in 1...8 {
                    let line = try await client.ask(#"{"op":"watch","id":\#(id)}"#)
                    #expect(line.type == "state")
                }
                let refusal = try await client.ask(#"{"op":"watch","id":9}"#)
                #expect(refusal.error == "limit")
                for _ in 1...32 { try client.send("wait ready:value=true") }
                let second = try await client.ask("wait ready:value=true")
                #expect(second.error == "limit")
            }
        }
    }
}

import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("A reply")
struct ReplyTests {
    @Test("is what the examples show, byte for byte")
    func isWhatTheExamplesShow() throws {
        let requested = try self.accepted() + self.evaluated() + self.refused()
        try Fixture.replies.expect(requested + self.voted() + self.counted() + self.sent())
    }

    @Test("shows every error that can occur, in one example or another")
    func showsEveryError() throws {
        let lines = try Fixture.replies.lines() + Fixture.refusals.lines()
        for code in ErrorCode.allCases {
            // `internal` cannot occur as long as states are kept in memory only.
            let canOccur = code != .internal
            #expect(lines.contains { $0.contains("\"error\":\"\(code.rawValue)\"") } == canOccur)
        }
    }

    /// To `get`, `set`, `ping` and `unwatch`.
    private func accepted() throws -> [[UInt8]] {
        let start = try ServerLine.Report(0, .ready(false))
        let active = try ServerLine.Report(41, .authentication(.active))
        let ready = try ServerLine.Report(42, .ready(true))
        return [
            ServerLine.reply(id: nil, report: start),
            ServerLine.reply(id: nil, report: active),
            ServerLine.reply(id: .integer(-1), report: active),
            ServerLine.reply(id: .string("a\"/é\n"), report: active),
            ServerLine.reply(id: .integer(4), report: ready, own: { $0.bool("changed", true) }),
            ServerLine.reply(id: .integer(5), report: ready, own: { $0.bool("changed", false) }),
            ServerLine.reply(id: nil, own: { $0.number("seq", ready.seq) }),
            ServerLine.reply(id: .integer(2)),
        ]
    }

    /// To `send`, for a declared machine.
    private func sent() throws -> [[UInt8]] {
        let playing = try ServerLine.Report.playing()
        let menu = try ServerLine.Report.menu()
        let problem = "machine.yaml:3:5: there is no state \"idel\"; did you mean idle?"
        return [
            ServerLine.reply(
                id: nil,
                report: playing,
                own: {
                    $0.bool(.changed, true)
                    $0.bool(.handled, true)
                }
            ),
            ServerLine.refusal(
                id: nil,
                WireError(
                    .unknownEvent,
                    "there is no event \"nosuch\"; known: touch, play, fault",
                    known: ["touch", "play", "fault"]
                ),
                report: playing
            ),
            ServerLine.reply(
                id: .integer(9),
                report: menu,
                own: {
                    $0.bool(.changed, true)
                    $0.bool(.handled, true)
                }
            ),
            ServerLine.refusal(
                id: .integer(10),
                WireError(.conflict, "expected stay 7, but the state is menu at seq 8"),
                report: menu
            ),
            ServerLine.refusal(
                id: .integer(9),
                WireError(
                    .suspended,
                    "automatic transitions are suspended, after 50 within 60.0 seconds, until a client "
                        + "sends set, update or send; report the end of the run again then"
                )
            ),
            ServerLine.refusal(
                id: .integer(14),
                WireError(.badFile, problem),
                report: try ServerLine.Report(42, .ready(true)),
                own: { $0.json(.problems, .array([.string(problem)])) }
            ),
        ]
    }

    /// To `wait`.
    private func evaluated() throws -> [[UInt8]] {
        let ready = try ServerLine.Report(44, .ready(true))
        let failure = try ServerLine.Report(45, .authentication(.failure))
        let text = try Pattern(text: "ready:value=true")
        let object = try Pattern(JSONValue(reading: #"{"data":{"value":true},"state":"ready"}"#))
        let failed = try Pattern(text: "authentication:phase=failure")
        let timeout = WireError(
            .timeout,
            "the state is still authentication(phase: failure) after 30000 ms, as it has been since \(failure.at.rfc3339)"
        )
        return [
            ServerLine.reply(
                id: .integer(3),
                report: ready,
                own: { $0.json("matched", text.written) }
            ),
            ServerLine.reply(
                id: .integer(3),
                report: ready,
                own: { $0.json("matched", object.written) },
                rest: { $0.string("resync", ServerLine.Resync.evicted.rawValue) }
            ),
            ServerLine.refusal(
                id: .integer(3),
                WireError(
                    .failedState,
                    "reached authentication(phase: failure), which counts as failure"
                ),
                report: failure,
                own: { $0.json("matched", failed.written) }
            ),
            ServerLine.refusal(id: .integer(3), timeout, report: failure),
            ServerLine.refusal(
                id: .integer(3),
                timeout,
                report: failure,
                rest: { $0.string("resync", ServerLine.Resync.restarted.rawValue) }
            ),
            ServerLine.refusal(
                id: .integer(3),
                WireError(.shuttingDown, "the daemon is shutting down"),
                report: failure
            ),
        ]
    }

    /// Refusals of requests that can be parsed.
    private func refused() throws -> [[UInt8]] {
        let active = try ServerLine.Report(43, .authentication(.active))
        return [
            ServerLine.refusal(
                id: .integer(4),
                WireError(
                    .conflict,
                    "expected seq 41, but the state is authentication(phase: active) at seq 43"
                ),
                report: active
            ),
            ServerLine.refusal(
                id: .integer(4),
                WireError(
                    .illegalTransition,
                    "dataRetrieval may not follow authentication; allowed: ready, authentication"
                ),
                report: active,
                own: {
                    $0.json("allowed", .array([.string("ready"), .string("authentication")]))
                }
            ),
            ServerLine.refusal(
                id: .integer(4),
                WireError(.forbidden, "set is not allowed on events.sock; use control.sock")
            ),
            ServerLine.refusal(
                id: nil,
                WireError(
                    .notFound,
                    "this connection has no watch without an id; give the id of the watch or wait to end"
                )
            ),
            ServerLine.refusal(
                id: .integer(9),
                WireError(
                    .limit,
                    "this connection already has 8 watches, the most that it may have; end one first"
                )
            ),
            ServerLine.refusal(
                id: .integer(4),
                WireError(
                    .tooLong,
                    "the state is too long: it has 70000 bytes as JSON, and may have 65536"
                )
            ),
            ServerLine.refusal(
                id: nil,
                WireError(
                    .badRequest,
                    "the last line has no newline at its end, and was not carried out"
                )
            ),
        ]
    }
}

import DaemonScripts
import StateMachineClient
import TestSupport
import Testing

@testable import statectl

@Suite(.bounded) struct GuardTests {
    private static let request = #"{"op":"guard","before":["b"]}"#
    private static let registered = Step.send(#"{"type":"reply","ok":true,"guard":3}"# + "\n")
    private static let no = #"{"type":"reply","ok":false,"error":"limit","message":"full"}"#
    private static let late =
        #"{"type":"reply","id":"vote","ok":false,"error":"not-found"}"# + "\n"

    private static func ask(_ number: Int, leftMs: Int = 60_000) -> Step {
        .send(
            #"{"type":"ask","ask":\#(number),"seq":4,"state":"a","data":{},"#
                + #""to":{"state":"b","data":{"value":\#(number)}},"by":{"uid":1000,"pid":12},"#
                + #""cause":"login","leftMs":\#(leftMs)}"# + "\n"
        )
    }

    private static func vote(_ number: Int, _ rest: String) -> String {
        #"{"op":"vote","ask":\#(number),"allow":\#(rest),"id":"vote"}"#
    }

    /// Lets `script` decide until the daemon no longer wants the guard; returns the complaints.
    private func answerAll(
        _ daemon: ScriptedDaemon,
        _ script: String,
        why: String? = nil
    ) async throws -> [String] {
        let complaints = Recorder<String>()
        let guarding = daemon.client.guard(before: ["b"], clock: InstantClock())
        let command = try #require(ChildCommand(["sh", "-c", script]))
        let run = GuardRun(
            guarding: guarding,
            command: command,
            why: why,
            complain: { complaints.record($0) }
        )
        let refusal = try Line.of(Self.no)
        await #expect(throws: ClientError.refused(refusal)) { try await run.answerAll() }
        return complaints.heard
    }

    @Test func aLostGuardIsRegisteredAgainAndALateVoteIsNoEnd() async throws {
        let control = ScriptedDoor(
            [.awaitRequest, Self.registered, Self.ask(7), .awaitRequest, .send(Self.late), .close],
            [.awaitRequest, Self.registered]
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            var events: [String] = []
            for try await event in daemon.client.guard(before: ["b"], clock: InstantClock()) {
                switch event {
                case .registered(let number): events.append("registered \(number)")
                case .asked(let question):
                    events.append("asked \(question.number)")
                    try await question.vote(allow: false, why: "unsaved work")
                case .interrupted(_, let attempt, _): events.append("interrupted \(attempt)")
                }
                if events.count == 4 { break }
            }
            #expect(events == ["registered 3", "asked 7", "interrupted 1", "registered 3"])
            let vote = Self.vote(7, #"false,"why":"unsaved work""#)
            #expect(control.requests == [Self.request, vote, Self.request])
        }
    }

    @Test(arguments: [(nil, "false"), ("so", #"false,"why":"so""#)])
    func theExitCodeIsTheVoteAndTheFirstComplaintTheReason(
        why: String?,
        silent: String
    ) async throws {
        let control = ScriptedDoor([
            .awaitRequest, Self.registered, Self.ask(0), .awaitRequest, Self.ask(1), .awaitRequest,
            Self.ask(2), .awaitRequest, .send(Self.no + "\n"),
        ])
        let script = """
            case $STATEMACHINE_TO_DATA in
            '{"value":0}') exit 0;; '{"value":1}') exit 1;; *) echo because >&2; exit 2;;
            esac
            """
        try await ScriptedDaemon.with(control: control) { daemon in
            let complaints = try await self.answerAll(daemon, script, why: why)
            #expect(complaints == [])
            #expect(
                control.requests == [
                    Self.request, Self.vote(0, "true"), Self.vote(1, silent),
                    Self.vote(2, #"false,"why":"because""#),
                ]
            )
        }
    }

    @Test func aCommandThatIsTooSlowDoesNotVote() async throws {
        let control = ScriptedDoor([
            .awaitRequest, Self.registered, Self.ask(1, leftMs: 1), Self.ask(2), .awaitRequest,
            .send(Self.no + "\n"),
        ])
        // Without a reader the end of the pipe never comes: only a signal ends the first command.
        let script = #"[ "$STATEMACHINE_LEFT_MS" = 1 ] && exec tail -f /dev/null; exit 0"#
        try await ScriptedDaemon.with(control: control) { daemon in
            let complaints = try await self.answerAll(daemon, script)
            #expect(control.requests == [Self.request, Self.vote(2, "true")])
            // Whether the complaint still comes depends on which of the two ended first.
            let slow = "sh took longer than the daemon waits, and was stopped"
            #expect(complaints.allSatisfy { $0 == slow })
        }
    }
}

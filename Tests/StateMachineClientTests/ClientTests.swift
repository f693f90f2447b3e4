import DaemonScripts
import TestSupport
import Testing

@testable import StateMachineClient

@Suite(.bounded) struct ClientTests {
    private static let yes = #"{"type":"reply","ok":true,"seq":4,"cursor":"e:4"}"#
    private static let state = #"{"type":"state","seq":4,"state":"a","cursor":"e:4"}"# + "\n"
    private static let down = #"{"type":"reply","ok":false,"error":"shutting-down"}"#
    private static let bye = #"{"type":"bye","reason":"restart","retryMs":200}"#

    @Test func theControlDoorIsAskedWithoutCeremony() async throws {
        let control = ScriptedDoor([.awaitRequest, .send(Self.yes + "\n")])
        try await ScriptedDaemon.with(control: control) { daemon in
            let found = try await daemon.client.reply(to: .get).text
            #expect(found == Self.yes)
            #expect(control.requests == [#"{"op":"get"}"#])
        }
    }

    @Test func readingFindsItsWayPastALockedControlDoor() async throws {
        let events = ScriptedDoor([
            .send(Self.state), .awaitRequest,
            .send(Self.state + #"{"type":"reply","ok":true}"# + "\n"), .awaitRequest,
            .send(Self.yes + "\n"),
        ])
        try await ScriptedDaemon.with(control: ScriptedDoor(), events: events) { daemon in
            try await daemon.lock(.control)
            let found = try await daemon.client.reply(to: .get).text
            #expect(found == Self.yes)
            #expect(events.requests == [#"{"op":"unwatch"}"#, #"{"op":"get"}"#])
        }
    }

    @Test func settingDoesNotTryTheOtherDoor() async throws {
        let events = ScriptedDoor()
        try await ScriptedDaemon.with(control: ScriptedDoor(), events: events) { daemon in
            try await daemon.lock(.control)
            let path = daemon.directory.socketPath(of: .control)
            await #expect(throws: ClientError.notPermitted(path: path)) {
                try await daemon.client.reply(to: .set("a"))
            }
        }
        #expect(events.requests.isEmpty)
    }

    @Test func aFarewellInsteadOfAReplyIsTheReason() async throws {
        let control = ScriptedDoor([.send(Self.bye + "\n"), .close])
        try await ScriptedDaemon.with(control: control) { daemon in
            let farewell = try Line.of(Self.bye)
            await #expect(throws: ClientError.dismissed(farewell)) {
                try await daemon.client.reply(to: .get)
            }
        }
    }

    @Test func aReplyThatIsCutOffIsALostConnection() async throws {
        let control = ScriptedDoor([.awaitRequest, .send(Self.yes), .close])
        try await ScriptedDaemon.with(control: control) { daemon in
            let path = daemon.directory.socketPath(of: .control)
            // Long enough for a script that is delayed.
            await #expect(throws: ClientError.lost(path: path)) {
                try await daemon.client.reply(to: .get, within: .seconds(300))
            }
        }
    }

    @Test func aDaemonThatSaysNothingIsGivenUp() async throws {
        let limit = Duration.milliseconds(1)
        try await ScriptedDaemon.with(control: ScriptedDoor([])) { daemon in
            let path = daemon.directory.socketPath(of: .control)
            await #expect(throws: ClientError.silent(path: path, limit)) {
                try await daemon.client.reply(to: .get, within: limit)
            }
        }
    }

    /// A set may wait for votes, and a search may find nothing, for as long as the daemon lives.
    @Test func whatMayTakeLongIsWaitedForWhileTheDaemonLives() async throws {
        // The second connection is the one that asks for a sign of life, and the third again, without an answer.
        let control = ScriptedDoor(
            [.awaitRequest],
            [.awaitRequest, .send(Self.yes + "\n"), .awaitRequest],
            []
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            var client = daemon.client
            client.patience = .milliseconds(200)
            let alive = Recorder<Void>()
            let path = daemon.directory.socketPath(of: .control)
            await #expect(throws: ClientError.silent(path: path, .milliseconds(200))) {
                try await client.reply(to: .set("a"), within: nil) { if $0 { alive.record(()) } }
            }
            #expect(alive.heard.count == 1)
            #expect(
                control.requests == [
                    #"{"op":"set","state":"a"}"#, #"{"op":"ping"}"#, #"{"op":"ping"}"#,
                ]
            )
        }
    }

    @Test func aSearchTellsHowFarItIsAndAnOlderDaemonIsAskedWithoutThat() async throws {
        let refusal =
            #"{"type":"reply","ok":false,"error":"bad-request","known":["op","id","since"]}"#
        let control = ScriptedDoor(
            [
                .awaitRequest,
                .send(#"{"type":"progress","examined":5,"of":9}"# + "\n" + Self.yes + "\n"),
                .awaitRequest,
            ],
            [
                .awaitRequest, .send(refusal + "\n"), .awaitRequest, .send(Self.yes + "\n"),
                .awaitRequest,
            ]
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            for expected: [[UInt64]] in [[[5, 9]], []] {
                var told: [[UInt64]] = []
                let reply = try await daemon.client.changes(
                    .history(order: .newest),
                    progress: { told.append([$0, $1]) }
                ) { _ in }
                #expect(reply.text == Self.yes && told == expected)
            }
            let plain = #"{"op":"history","order":"newest"}"#
            let asked = #"{"op":"history","order":"newest","progress":true}"#
            #expect(control.requests == [asked, asked, plain])
        }
    }

    @Test func aWaitGoesOnAfterARestartFromWhereItBegan() async throws {
        let answered = [Step.awaitRequest, .send(Self.yes + "\n"), .awaitRequest]
        let control = ScriptedDoor(
            answered + [.send(Self.down + "\n")],
            answered + [.send(Self.bye + "\n"), .close],
            answered + [.send(Self.yes + "\n")]
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            // The timeout leaves time for a script that is delayed.
            var told: [String] = []
            let reply = try await daemon.client.wait(
                until: ["a"],
                timeout: .seconds(300),
                clock: InstantClock(),
                interrupted: { _, attempt, _ in told.append("interrupted \(attempt)") },
                reconnected: { told.append("connected") }
            )
            #expect(reply.text == Self.yes)
            #expect(told == ["interrupted 1", "connected", "interrupted 1", "connected"])
            // How much of the timeout is left depends on the clock.
            let asked = control.requests.map { String($0.split(separator: #","timeoutMs":"#)[0]) }
            let wait = #"{"op":"wait","until":["a"],"since":"e:4""#
            let get = #"{"op":"get"}"#
            #expect(asked == [get, wait, get, wait, get, wait])
        }
    }

    @Test func theTimeOfAWaitRunsOnWhileThereIsNoConnection() async throws {
        let answered = [Step.awaitRequest, .send(Self.yes + "\n"), .awaitRequest]
        let control = ScriptedDoor(answered + [.close], answered + [.send(Self.yes + "\n")])
        let clock = InstantClock()
        try await ScriptedDaemon.with(control: control) { daemon in
            _ = try await daemon.client.wait(
                until: ["a"],
                since: "e:1",
                timeout: .seconds(300),
                clock: clock
            )
            let (first, second) = (control.requests[1], control.requests[3])
            #expect(first == #"{"op":"wait","until":["a"],"since":"e:1","timeoutMs":300000}"#)
            let line = try #require(JSONValue(parsing: second))
            let left = Duration.seconds(300) - clock.now.offset
            #expect(line["timeoutMs"]?.integer == Request.milliseconds(left))
        }
    }

    @Test func aWaitWhoseDaemonStaysAwayIsLostForGood() async throws {
        let control = ScriptedDoor([.awaitRequest, .send(Self.yes + "\n"), .awaitRequest, .close])
        let clock = InstantClock()
        try await ScriptedDaemon.with(control: control) { daemon in
            var attempts: [Int] = []
            let error = await #expect(throws: ClientError.self) {
                _ = try await daemon.client.wait(until: ["a"], clock: clock) { error, attempt, _ in
                    attempts.append(attempt)
                }
            }
            guard case .lostForGood(_, let duration) = error else {
                Issue.record("\(error.debugDescription)")
                return
            }
            #expect(duration == Client.reconnectionTimeout)
            #expect(attempts == Array(1...attempts.count))
        }
    }

    @Test func aWaitWhoseTimeIsUpWhileItsDaemonIsAwayHasTimedOut() async throws {
        let control = ScriptedDoor([.awaitRequest, .send(Self.yes + "\n"), .awaitRequest, .close])
        try await ScriptedDaemon.with(control: control) { daemon in
            let (path, time) = (daemon.directory.socketPath(of: .control), Duration.seconds(30))
            await #expect(throws: ClientError.timedOut(path: path, after: time)) {
                try await daemon.client.wait(until: ["a"], timeout: time, clock: InstantClock())
            }
        }
    }

    private static let change =
        #"{"type":"change","seq":2,"state":"b","data":{},"cursor":"e:2","replay":true}"#
    private static let reply = #"{"type":"reply","ok":true,"count":1,"more":true}"#

    @Test func changesComeBeforeTheReply() async throws {
        let control = ScriptedDoor([
            .awaitRequest, .send(Self.change + "\n"), .send(Self.reply + "\n"),
        ])
        try await ScriptedDaemon.with(control: control) { daemon in
            var changes: [String] = []
            let reply = try await daemon.client.history(since: "e:1", limit: 1, only: ["b"]) {
                changes.append($0.text)
            }
            #expect(changes == [Self.change])
            #expect(reply.text == Self.reply)
            #expect(reply.count == 1)
            #expect(reply.hasMore)
            #expect(control.requests == [#"{"op":"history","since":"e:1","limit":1,"only":["b"]}"#])
        }
    }

    @Test func aListThatIsCutOffIsALostConnection() async throws {
        let control = ScriptedDoor([.awaitRequest, .send(Self.change + "\n"), .close])
        try await ScriptedDaemon.with(control: control) { daemon in
            let path = daemon.directory.socketPath(of: .control)
            await #expect(throws: ClientError.lost(path: path)) {
                _ = try await daemon.client.history { _ in }
            }
        }
    }

    private static let golden: [(Request, String)] = [
        (.get, #"{"op":"get"}"#),
        (.getPossible, #"{"op":"get","possible":true}"#),
        (.ping.called("a"), #"{"op":"ping","id":"a"}"#),
        (.set("ready"), #"{"op":"set","state":"ready"}"#),
        (
            .set(
                "ready",
                data: [JSONMember("value", true)],
                ifSeq: 41,
                ifState: ["authentication"],
                reenter: true,
                cause: "login"
            ),
            #"{"op":"set","state":"ready","data":{"value":true},"ifSeq":41,"#
                + #""ifState":"authentication","reenter":true,"cause":"login"}"#
        ),
        (
            .set("s", data: [JSONMember("a", 1)], words: [JSONMember("b", "1")]),
            #"{"op":"set","state":"s","data":{"a":1},"words":{"b":"1"}}"#
        ),
        (
            .send("e", words: [JSONMember("b", "null")]),
            #"{"op":"send","event":"e","words":{"b":"null"}}"#
        ),
        (
            .update([], words: [JSONMember("b", "2")], ifStay: 3),
            #"{"op":"update","data":{},"words":{"b":"2"},"ifStay":3}"#
        ),
        (
            .update([], adding: [JSONMember("n", 1)], ifSeq: 4, ifState: ["a"], cause: "c"),
            #"{"op":"update","add":{"n":1},"ifSeq":4,"ifState":"a","cause":"c"}"#
        ),
        (.watch(), #"{"op":"watch"}"#),
        (
            .watch(since: "7f3a9c:40", only: ["ready", ["state": "authentication"]]),
            #"{"op":"watch","since":"7f3a9c:40","only":["ready",{"state":"authentication"}]}"#
        ),
        (
            .watch(pace: Pace(isLatest: true, every: .milliseconds(250), beat: .seconds(30))),
            #"{"op":"watch","mode":"latest","everyMs":250,"beatMs":30000}"#
        ),
        (.stats, #"{"op":"stats"}"#),
        (.history(), #"{"op":"history"}"#),
        (
            .history(since: "7f3a9c:40", limit: 10, only: ["ready"]),
            #"{"op":"history","since":"7f3a9c:40","limit":10,"only":["ready"]}"#
        ),
        (.hold(before: ["ready"]), #"{"op":"hold","before":["ready"]}"#),
        (
            .hold(before: ["a", "b"], mode: .delay, limit: .seconds(2), why: "saving"),
            #"{"op":"hold","before":["a","b"],"mode":"delay","maxMs":2000,"why":"saving"}"#
        ),
        (.release(3), #"{"op":"release","hold":3}"#),
        (.release(required: "display"), #"{"op":"release","required":"display"}"#),
        (
            .guard(before: ["ready"], required: "display"),
            #"{"op":"guard","before":["ready"],"required":"display"}"#
        ),
        (.guard(before: ["a"]), #"{"op":"guard","before":["a"]}"#),
        (
            .guard(before: ["a"], timeout: .seconds(1), onTimeout: .deny, why: "no"),
            #"{"op":"guard","before":["a"],"timeoutMs":1000,"onTimeout":"deny","why":"no"}"#
        ),
        (.vote(7, allow: true), #"{"op":"vote","ask":7,"allow":true}"#),
        (
            .vote(7, allow: false, why: "unsaved work"),
            #"{"op":"vote","ask":7,"allow":false,"why":"unsaved work"}"#
        ),
        (.wait(until: ["ready"]), #"{"op":"wait","until":["ready"]}"#),
        (
            .wait(until: ["a"], fail: ["b"], since: "c", timeout: .microseconds(1_500_001)),
            #"{"op":"wait","until":["a"],"fail":["b"],"since":"c","timeoutMs":1501}"#
        ),
        (.wait(until: ["a"], timeout: .zero), #"{"op":"wait","until":["a"],"timeoutMs":0}"#),
        (.wait(until: ["a"], timeout: .seconds(-1)), #"{"op":"wait","until":["a"],"timeoutMs":0}"#),
        (
            .wait(until: ["a"], timeout: .seconds(Int64.max)),
            #"{"op":"wait","until":["a"],"timeoutMs":9007199254740991}"#
        ),
    ]

    @Test(arguments: golden) func aRequestIsOneLine(request: Request, text: String) {
        #expect(String(decoding: request.line, as: UTF8.self) == text + "\n")
    }

    @Test func aTypedValueIsJSONOrElseAString() {
        #expect(JSONValue(typed: "true") == true)
        #expect(JSONValue(typed: "-3") == -3)
        #expect(JSONValue(typed: "[1]") == [1])
        #expect(JSONValue(typed: "active") == "active")
        #expect(JSONValue(typed: "") == "")
        #expect(JSONValue(typed: "\"3\"") == "3")
        #expect(JSONValue(typed: "{\"a\":1,\"a\":2}") == "{\"a\":1,\"a\":2}")
    }
}

extension Request {
    /// The `timeoutMs` of a wait with that timeout.
    fileprivate static func milliseconds(_ duration: Duration) -> Int64? {
        let line = Request.wait(until: ["a"], timeout: duration).line
        return JSONValue(parsing: String(decoding: line, as: UTF8.self))?["timeoutMs"]?.integer
    }
}

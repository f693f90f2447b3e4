import Synchronization
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
        // The second connection is the one that asks for a sign of life.
        let control = ScriptedDoor(
            [.awaitRequest],
            [.awaitRequest, .send(Self.yes + "\n"), .awaitRequest],
            []
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            var client = daemon.client
            client.patience = .milliseconds(200)
            let alive = Counter()
            let path = daemon.directory.socketPath(of: .control)
            await #expect(throws: ClientError.silent(path: path, .milliseconds(300))) {
                try await client.reply(to: .set("a"), within: nil) { alive.add() }
            }
            #expect(alive.count == 1)
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
}

extension Request {
    /// The `timeoutMs` of a wait with that timeout.
    fileprivate static func milliseconds(_ duration: Duration) -> Int64? {
        let line = Request.wait(until: ["a"], timeout: duration).line
        return JSONValue(parsing: String(decoding: line, as: UTF8.self))?["timeoutMs"]?.integer
    }
}

/// Counts; guarded state: `value`, behind its lock.
private final class Counter: Sendable {
    private let value = Mutex(0)

    var count: Int { self.value.withLock { $0 } }

    func add() { self.value.withLock { $0 += 1 } }
}

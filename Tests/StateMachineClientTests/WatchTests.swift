import DaemonScripts
import StateMachineClient
import TestSupport
import Testing

@Suite(.bounded) struct WatchTests {
    private static let state =
        #"{"type":"state","seq":1,"state":"a","data":{},"cursor":"e:1"}"# + "\n"
    private static let change =
        #"{"type":"change","seq":2,"state":"b","data":{},"cursor":"e:2"}"# + "\n"
    private static let live = #"{"type":"live","seq":2,"state":"b","cursor":"e:2"}"# + "\n"
    private static let resync =
        #"{"type":"state","seq":0,"state":"a","cursor":"f:0","resync":"restarted"}"# + "\n"
    private static let bye = #"{"type":"bye","reason":"restart","retryMs":200}"# + "\n"

    /// The first `count` events: a line's text, or `interrupted N`.
    private func events(_ count: Int, of watch: Watch) async throws -> [String] {
        var events: [String] = []
        for try await event in watch {
            switch event {
            case .line(let line): events.append(line.text + "\n")
            case .reached(let line): events.append("reached " + line.text + "\n")
            case .interrupted(_, let attempt, _): events.append("interrupted \(attempt)")
            }
            if events.count == count { break }
        }
        return events
    }

    @Test func aLostWatchIsResumedAfterItsLastWholeLine() async throws {
        let control = ScriptedDoor(
            [.awaitRequest, .send(Self.state + Self.change), .send(#"{"type":"change","#), .close],
            [.awaitRequest, .send(Self.live)]
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            let watch = daemon.client.watch(only: ["a", "b"], clock: InstantClock())
            let found = try await self.events(4, of: watch)
            #expect(found == [Self.state, Self.change, "interrupted 1", Self.live])
            #expect(
                control.requests == [
                    #"{"op":"watch","only":["a","b"]}"#,
                    #"{"op":"watch","since":"e:2","only":["a","b"]}"#,
                ]
            )
        }
    }

    @Test func whatWasMissedIsShown() async throws {
        let control = ScriptedDoor(
            [.awaitRequest, .send(Self.state + Self.bye), .close],
            [.awaitRequest, .send(Self.resync)]
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            let watch = daemon.client.watch(clock: InstantClock())
            let found = try await self.events(3, of: watch)
            #expect(found == [Self.state, "interrupted 1", Self.resync])
        }
    }

    @Test func aFarewellComesWithThePauseThatItAsksFor() async throws {
        let control = ScriptedDoor([.awaitRequest, .send(Self.state + Self.bye)])
        try await ScriptedDaemon.with(control: control) { daemon in
            var iterator = daemon.client.watch(clock: InstantClock()).makeAsyncIterator()
            _ = try await iterator.next()
            guard case .interrupted(.dismissed(let line), 1, let pause) = try await iterator.next()
            else {
                Issue.record("there was no farewell")
                return
            }
            #expect(line.text + "\n" == Self.bye)
            #expect(pause >= .milliseconds(200))
        }
    }

    @Test func aFullDaemonIsTriedAgain() async throws {
        let limit = #"{"type":"bye","reason":"limit","limit":"connections","max":512}"# + "\n"
        let control = ScriptedDoor([.send(limit), .close], [.awaitRequest, .send(Self.state)])
        try await ScriptedDaemon.with(control: control) { daemon in
            let watch = daemon.client.watch(clock: InstantClock())
            let found = try await self.events(2, of: watch)
            #expect(found == ["interrupted 1", Self.state])
        }
    }

    @Test func theEventsDoorsOwnWatchIsEndedFirst() async throws {
        let events = ScriptedDoor([
            .send(Self.state), .awaitRequest,
            .send(Self.change + #"{"type":"reply","ok":true}"# + "\n"),
            .awaitRequest, .send(Self.live),
        ])
        try await ScriptedDaemon.with(control: ScriptedDoor(), events: events) { daemon in
            try await daemon.lock(.control)
            let watch = daemon.client.watch(since: "e:1", clock: InstantClock())
            let found = try await self.events(1, of: watch)
            #expect(found == [Self.live])
            #expect(events.requests == [#"{"op":"unwatch"}"#, #"{"op":"watch","since":"e:1"}"#])
        }
    }

    @Test func thePaceIsAskedForOnEachConnection() async throws {
        let control = ScriptedDoor(
            [.awaitRequest, .send(Self.state), .close],
            [.awaitRequest, .send(Self.live)]
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            let pace = Pace(isLatest: true, every: .milliseconds(250), beat: .seconds(30))
            let watch = daemon.client.watch(pace: pace, clock: InstantClock())
            _ = try await self.events(3, of: watch)
            let keys = #""mode":"latest","everyMs":250,"beatMs":30000}"#
            #expect(
                control.requests == [
                    #"{"op":"watch",\#(keys)"#,
                    #"{"op":"watch","since":"e:1",\#(keys)"#,
                ]
            )
        }
    }

    @Test func aWatchEndsOnceTheStateIsReachedOverRestarts() async throws {
        let down =
            #"{"type":"reply","id":"until","ok":false,"error":"shutting-down"}"# + "\n"
        let reached = #"{"type":"reply","id":"until","ok":true,"matched":"b","seq":2}"# + "\n"
        let control = ScriptedDoor(
            [.awaitRequest, .awaitRequest, .send(Self.state + down + Self.bye), .close],
            [.awaitRequest, .awaitRequest, .send(Self.change + reached + Self.live)]
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            let watch = daemon.client.watch(until: ["b"], clock: InstantClock())
            let found = try await self.events(9, of: watch)
            #expect(found == [Self.state, "interrupted 1", Self.change, "reached " + reached])
            #expect(
                control.requests == [
                    #"{"op":"watch"}"#,
                    #"{"op":"wait","until":["b"],"id":"until"}"#,
                    #"{"op":"watch","since":"e:1"}"#,
                    #"{"op":"wait","until":["b"],"since":"e:1","id":"until"}"#,
                ]
            )
        }
    }

    @Test func anEndThatTheDaemonDoesNotKnowEndsTheWatchBadly() async throws {
        let no = #"{"type":"reply","id":"until","ok":false,"error":"unknown-state"}"#
        let control = ScriptedDoor([.awaitRequest, .awaitRequest, .send(Self.state + no + "\n")])
        try await ScriptedDaemon.with(control: control) { daemon in
            let refusal = try Line.of(no)
            await #expect(throws: ClientError.refused(refusal)) {
                try await self.events(2, of: daemon.client.watch(until: ["oops"]))
            }
        }
    }

    @Test func aRefusedWatchEnds() async throws {
        let no = #"{"type":"reply","ok":false,"error":"unknown-state","message":"no"}"#
        let control = ScriptedDoor([.awaitRequest, .send(no + "\n")])
        try await ScriptedDaemon.with(control: control) { daemon in
            let refusal = try Line.of(no)
            await #expect(throws: ClientError.refused(refusal)) {
                try await self.events(1, of: daemon.client.watch(only: ["oops"]))
            }
        }
    }

    @Test func aDaemonThatIsNotThereEndsTheWatch() async throws {
        try await ScriptedDaemon.with { daemon in
            let path = daemon.directory.socketPath(of: .control)
            await #expect(throws: ClientError.unreachable(path: path, reason: "no such socket")) {
                try await self.events(1, of: daemon.client.watch())
            }
        }
    }

    @Test func doorsThatAreBothLockedEndTheWatch() async throws {
        try await ScriptedDaemon.with(control: ScriptedDoor(), events: ScriptedDoor()) { daemon in
            try await daemon.lock(.control)
            try await daemon.lock(.events)
            let path = daemon.directory.socketPath(of: .events)
            await #expect(throws: ClientError.notPermitted(path: path)) {
                try await self.events(1, of: daemon.client.watch())
            }
        }
    }

    @Test func aCancelledWatchEndsAtOnce() async throws {
        try await ScriptedDaemon.with(control: ScriptedDoor([.awaitRequest, .send(Self.state)])) {
            daemon in
            let watch = daemon.client.watch()
            await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    var count = 0
                    for try await _ in watch { count += 1 }
                    return count
                }
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.next() }
            }
        }
    }
}

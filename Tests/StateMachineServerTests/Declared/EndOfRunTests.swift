import StateMachineCore
import TestSupport
import Testing

/// How a declared machine hears that the command of a stay has ended.
@Suite(.bounded)
struct EndOfRunTests {
    private static let update = """
        machine: update
        start: idle
        to: [idle, installing, resting]
        moves: {most: 3, in: 1h}
        events: {install: {version: string}}
        states:
          idle:
            fields: {result: {values: [none, good, bad, lost], default: none}}
            when: {install: installing}
          installing:
            fields: {version: {type: string, default: "1"}, tries: {type: integer, default: 0}}
            run: {command: /bin/install, interrupted: idle result=lost}
            done: idle result=good
            exit: {21: installing}
            failed: idle result=bad
            when: {install: ignore}
          resting: {run: /bin/rest}
        """

    private func run(
        _ body: @escaping @Sendable (DeclaredDaemon) async throws -> Void
    ) async throws {
        try await DeclaredDaemon.run(Self.update, state: nil, clock: ManualStayClock(), body)
    }

    private static func end(_ data: String, stay: Int) -> String {
        #"{"op":"send","event":"run.ended","data":\#(data),"ifStay":\#(stay)}"#
    }

    @Test(arguments: [
        (#"{"exit":0}"#, "idle", #"{"result":"good"}"#, "done"),
        (#"{"exit":21}"#, "installing", #"{"version":"7","tries":2}"#, "exit 21"),
        (#"{"exit":3}"#, "idle", #"{"result":"bad"}"#, "failed"),
        (#"{"signal":"SIGSEGV"}"#, "idle", #"{"result":"bad"}"#, "failed"),
        (#"{"timeout":true}"#, "idle", #"{"result":"bad"}"#, "failed"),
        (#"{"interrupted":true}"#, "idle", #"{"result":"lost"}"#, "interrupted"),
    ])
    func eachEndLeadsWhereTheFileSays(
        end: String,
        state: String,
        data: String,
        cause: String
    ) async throws {
        try await self.run { daemon in
            let client = try daemon.connect()
            let watch = try daemon.connect()
            _ = try await watch.ask("watch")
            _ = try await client.ask("send install version=7")
            _ = try await client.ask("update tries=2")
            let answer = try await client.ask(Self.end(end, stay: 1))
            #expect(answer.ok == true && answer.bool("changed") == true)
            #expect(answer.bool("handled") == true && answer.seq == 3 && answer.int("stay") == 3)
            _ = try await watch.next()
            _ = try await watch.next()
            let change = try await watch.next()
            #expect(change.state == state && change.description.contains(#""data":\#(data)"#))
            #expect(change.string("cause") == cause && !change.has("by"))
        }
    }

    @Test
    func wordsAreTypedAsTheEventIs() async throws {
        try await self.run { daemon in
            let client = try daemon.connect()
            _ = try await client.ask("send install version=7")
            let answer = try await client.ask(
                #"{"op":"send","event":"run.ended","words":{"exit":"3"},"ifStay":1}"#
            )
            #expect(answer.state == "idle" && answer.seq == 2)
        }
    }

    @Test
    func whereNothingIsSaidOfAnEndTheStayGoesOn() async throws {
        try await self.run { daemon in
            let client = try daemon.connect()
            // Nothing runs; then there is a run, but no transition is declared for its end.
            for stay in [0, 1] {
                let answer = try await client.ask(Self.end(#"{"exit":0}"#, stay: stay))
                #expect(answer.ok == true && answer.bool("changed") == false)
                #expect(answer.bool("handled") == false && answer.seq == stay)
                _ = try await client.ask("set resting")
            }
        }
    }

    @Test(arguments: [
        (#""data":{"exit":0}"#, "bad-request"),
        (#""data":{"exit":0},"ifStay":1,"cause":"x""#, "bad-request"),
        (#""ifStay":1"#, "bad-data"),
        (#""data":{},"ifStay":1"#, "bad-data"),
        (#""data":{"exit":0,"signal":"SIGKILL"},"ifStay":1"#, "bad-data"),
        (#""data":{"exit":"0"},"ifStay":1"#, "bad-data"),
        (#""data":{"code":0},"ifStay":1"#, "bad-data"),
        (#""data":[],"ifStay":1"#, "bad-data"),
    ])
    func whatIsNoEndOfARunIsRefused(rest: String, code: String) async throws {
        try await self.run { daemon in
            let client = try daemon.connect()
            _ = try await client.ask("send install version=7")
            let answer = try await client.ask(#"{"op":"send","event":"run.ended",\#(rest)}"#)
            #expect(answer.error == code)
            #expect(try await client.ask("get").seq == 1)
        }
    }

    @Test
    func anEndOfAStayThatIsOverChangesNothing() async throws {
        try await self.run { daemon in
            let client = try daemon.connect()
            _ = try await client.ask("send install version=7")
            _ = try await client.ask(#"{"op":"set","state":"installing","reenter":true}"#)
            let late = try await client.ask(Self.end(#"{"exit":0}"#, stay: 1))
            #expect(late.error == "conflict" && late.seq == 2)
            // Nor does the end of a future stay.
            let early = try await client.ask(Self.end(#"{"exit":0}"#, stay: 3))
            #expect(early.error == "conflict" && early.seq == 2)
        }
    }

    @Test
    func oneThatIsSentByTwoIsTakenOnce() async throws {
        try await withTemporaryDirectory { directory in
            let machine = Self.update.replacing("most: 3", with: "most: 1000")
            try await DeclaredDaemon.run(
                machine,
                state: "\(directory)/state",
                clock: ManualStayClock()
            ) { daemon in
                let clients = [try daemon.connect(), try daemon.connect()]
                for _ in 1...50 {
                    let begun = try await clients[0].ask(
                        #"{"op":"set","state":"installing","reenter":true}"#
                    )
                    let stay = try #require(begun.seq)
                    // Each client sends it twice before reading; it leads to the same state, where
                    // it would apply again.
                    for client in clients + clients {
                        try client.send(Self.end(#"{"exit":21}"#, stay: stay))
                    }
                    var answers: [JSONLine] = []
                    for client in clients + clients { answers.append(try await client.next()) }
                    #expect(answers.count { $0.bool("changed") == true } == 1, "\(answers)")
                    #expect(answers.count { $0.error == "conflict" } == 3, "\(answers)")
                    #expect(try await clients[1].ask("get").seq == stay + 1)
                }
            }
        }
    }

    @Test
    func aHoldIsAskedAndTheSameIsTakenWhenItHasGone() async throws {
        try await self.run { daemon in
            let client = try daemon.connect()
            let holder = try daemon.connect()
            _ = try await client.ask("send install version=7")
            let hold = try await holder.ask(#"{"op":"hold","before":["idle"]}"#)
            #expect(hold.ok == true)
            let denied = try await client.ask(Self.end(#"{"exit":0}"#, stay: 1))
            #expect(denied.error == "denied" && denied.seq == 1)
            let number = try #require(hold.int("hold"))
            _ = try await holder.ask("release \(number)")
            let taken = try await client.ask(Self.end(#"{"exit":0}"#, stay: 1))
            #expect(taken.bool("changed") == true && taken.state == "idle")
        }
    }

    @Test
    func itsMoveCountsWithTheMachinesOwnAndIsWithheldLikeThem() async throws {
        try await self.run { daemon in
            let client = try daemon.connect()
            _ = try await client.ask("send install version=7")
            for stay in 1...3 {
                let again = try await client.ask(Self.end(#"{"exit":21}"#, stay: stay))
                #expect(again.bool("changed") == true && again.seq == stay + 1)
            }
            // However often it is sent; an end that would do nothing is not refused that way.
            for _ in 1...3 {
                let withheld = try await client.ask(Self.end(#"{"exit":21}"#, stay: 4))
                #expect(withheld.error == "suspended" && !withheld.has("seq"))
            }
            #expect(try await client.ask(Self.end(#"{"exit":21}"#, stay: 3)).error == "conflict")
            daemon.clock.pass(.seconds(7200))
            #expect(
                try await client.ask(Self.end(#"{"exit":21}"#, stay: 4)).error == "suspended"
            )
            #expect(try await client.ask("send install version=8").bool("handled") == true)
            let taken = try await client.ask(Self.end(#"{"exit":21}"#, stay: 4))
            #expect(taken.bool("changed") == true && taken.seq == 5)
        }
    }
}

import TestSupport
import Testing

/// A hold or a guard that comes while others are being asked.
@Suite(.bounded) struct LateVoterTests {
    /// A set to `busy` that waits for a guard's vote.
    private struct OpenQuestion {
        let guardian: LineSocket
        let setter: LineSocket
        let ask: JSONLine

        init(in daemon: DeclaredDaemon) async throws {
            (self.guardian, self.setter) = (try daemon.connect(), try daemon.connect())
            #expect(
                try await self.guardian.ask(
                    #"{"op":"guard","before":["busy"],"timeoutMs":60000}"#
                ).ok == true
            )
            try self.setter.send("set busy")
            self.ask = try await self.guardian.next()
            #expect(self.ask.type == "ask", "\(self.ask)")
        }
    }

    @Test func aHoldDeniesWhatIsBeingAsked() async throws {
        try await DeclaredDaemon.run(KeptVoters.machine) { daemon async throws in
            let question = try await OpenQuestion(in: daemon)
            let holder = try daemon.connect()
            let hold = try await holder.ask(#"{"op":"hold","before":["busy"],"why":"not now"}"#)
            let answer = try await question.setter.next()
            #expect(answer.error == "denied", "\(answer)")
            #expect(answer.items("by")?.first?.int("hold") == hold.int("hold"), "\(answer)")
            #expect(try await question.guardian.vote(question.ask, true, "").error == "not-found")
            #expect(try await daemon.ask("get").string("state") == "idle")
        }
    }

    /// And with it the change waits for both.
    @Test func aGuardHasWhatIsLeftOfTheTime() async throws {
        try await DeclaredDaemon.run(KeptVoters.machine) { daemon async throws in
            let question = try await OpenQuestion(in: daemon)
            let second = try daemon.connect()
            let line = #"{"op":"guard","before":["busy"],"timeoutMs":50000}"#
            #expect(try await second.ask(line).ok == true)
            let ask = try await second.next()
            #expect(ask.type == "ask", "\(ask)")
            let left = try #require(ask.int("leftMs"))
            #expect(left < 50_000 && left > 0, "\(ask)")
            #expect(try await question.guardian.vote(question.ask, true, "").ok == true)
            #expect(try await second.vote(ask, true, "").ok == true)
            #expect(try await question.setter.next().ok == true)
            #expect(try await daemon.ask("get").string("state") == "busy")
        }
    }

    /// The next set is decided within the vote by a guard that is not waited for, and the first is asked about it.
    @Test func aVoteMayBringTheNextQuestion() async throws {
        try await DeclaredDaemon.run(KeptVoters.machine) { daemon async throws in
            let line = #"{"op":"guard","before":["busy","waiting"],"timeoutMs":60000}"#
            let told =
                #"{"op":"guard","before":["waiting"],"timeoutMs":0,"onTimeout":"deny"}"#
            for isAllowed in [false, true] {
                for _ in 0..<10 {
                    let (guardian, other) = (try daemon.connect(), try daemon.connect())
                    #expect(try await guardian.ask(line).ok == true)
                    #expect(try await other.ask(told).ok == true)
                    let setter = try daemon.connect()
                    try setter.send("set busy\nset waiting")
                    let ask = try await guardian.next()
                    try guardian.send(
                        #"{"op":"vote","ask":\#(try #require(ask.int("ask"))),"allow":\#(isAllowed)}"#
                    )
                    #expect(try await setter.next().ok == isAllowed)
                    #expect(try await setter.next().error == "denied")
                    other.vanish()
                    guardian.vanish()
                    while try await daemon.ask("stats").has("guards") {}
                    #expect(try await daemon.ask("set idle").ok == true)
                }
            }
        }
    }

    @Test func aHoldOnOtherStatesDoesNot() async throws {
        try await DeclaredDaemon.run(KeptVoters.machine) { daemon async throws in
            let question = try await OpenQuestion(in: daemon)
            let holder = try daemon.connect()
            #expect(try await holder.ask(#"{"op":"hold","before":["idle"]}"#).ok == true)
            #expect(try await question.guardian.vote(question.ask, true, "").ok == true)
            #expect(try await question.setter.next().ok == true)
        }
    }
}

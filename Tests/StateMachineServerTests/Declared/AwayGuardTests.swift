import TestSupport
import Testing

/// A guard without which nothing goes, while its program is away.
@Suite(.bounded) struct AwayGuardTests {
    /// A guard may go while a question is on its way to it, which then must not count as consent.
    @Test func aRequiredGuardThatGoesWhileItIsAskedDenies() async throws {
        try await DeclaredDaemon.run(KeptVoters.machine) { daemon async throws in
            let line = #"{"op":"guard","before":["busy"],"required":"door","timeoutMs":60000}"#
            for _ in 0..<200 {
                let (guardian, setter) = (try daemon.connect(), try daemon.connect())
                _ = try await guardian.ask(line)
                try setter.send("set busy")
                guardian.vanish()
                let answer = try await setter.next()
                #expect(answer.error == "denied", "\(answer)")
            }
        }
    }

    /// Over its own end and over the daemon's.
    @Test func aRequiredGuardThatIsBackHasItsNumber() async throws {
        let clients = Recorder<LineSocket>()
        let line = #"{"op":"guard","before":["busy"],"required":"door","timeoutMs":60000}"#
        let comeBack: @Sendable (DeclaredDaemon) async throws -> LineSocket = { daemon in
            let guardian = try daemon.connect()
            #expect(try await guardian.ask(line).int("guard") == 1)
            let setter = try daemon.connect()
            try setter.send("set busy")
            let ask = try await guardian.next()
            #expect(ask.type == "ask", "\(ask)")
            #expect(try await guardian.vote(ask, true, "").ok == true)
            #expect(try await setter.next().ok == true)
            #expect(try await setter.ask("set idle").ok == true)
            return guardian
        }
        try await KeptVoters.twice(
            { daemon async throws in
                for _ in 0..<2 {
                    try await comeBack(daemon).vanish()
                    let isMissing: @Sendable () async throws -> Bool = {
                        try await daemon.ask("stats").items("guards")?.first?.has("missing") == true
                    }
                    while try await !isMissing() {}
                }
                clients.record(try await comeBack(daemon))
            },
            { daemon async throws in
                _ = try await comeBack(daemon)
            }
        )
    }
}

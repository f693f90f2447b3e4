import Dispatch
import Glibc
import Logging
import ServiceLifecycle
import StateMachineCore
import StateMachineServer
import TestSupport
import Testing

/// A daemon for a program's own enum, inside the program's process.
@Suite(.bounded) struct EmbeddedDaemonTests {
    /// Runs a daemon around `body`, which gets the path of the control door.
    private func withDaemon(
        _ machine: StateMachine<DoorState>,
        limits: ServerLimits = ServerLimits(),
        _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        try await StateMachineServerTests.withDaemon(limits: limits) {
            StateMachineDaemon(machine: machine, configuration: $0, logger: $1, onReady: $2)
        } body: {
            try await body("\($0)/control.sock")
        }
    }

    @Test func anIllegalTransitionIsRefusedWithWhatIsAllowed() async throws {
        let machine = StateMachine(DoorState.locked(by: "night watch"))
        try await self.withDaemon(machine) { path in
            let client = try LineSocket(connectingTo: path)
            let refusal = try await client.ask("set open degrees=90")
            #expect(refusal.error == "illegal-transition")
            #expect(refusal.strings("allowed") == ["closed"])
            #expect(refusal.state == "locked")
            #expect(
                refusal.keys == [
                    "type", "ok", "error", "message", "allowed", "seq", "state", "data", "at",
                    "cursor",
                ]
            )
            let legal = try await client.ask("set closed")
            #expect(legal.ok == true)
        }
        #expect(machine.state == .closed)
    }

    @Test func clientsSeeWhatTheProgramSets() async throws {
        let machine = StateMachine(DoorState.closed)
        try await self.withDaemon(machine) { path in
            let client = try LineSocket(connectingTo: path)
            let first = try await client.ask("watch open")
            #expect(first.state == "closed")
            machine.state = .open(degrees: 30)
            let change = try await client.next()
            #expect(change.type == "change")
            #expect(change.description.contains(#""state":"open","data":{"degrees":30}"#))
            #expect(!change.has("by"))
            machine.state = .closed
            machine.state = .open(degrees: 45)
            let later = try await client.next()
            #expect(later.seq == 3)
        }
    }

    /// However many changes reach the event loop in one turn.
    @Test func aBurstOfTheProgramCostsNoReaderALine() async throws {
        let machine = StateMachine(DoorState.closed)
        var limits = ServerLimits()
        limits.ringChanges = 64
        try await self.withDaemon(machine, limits: limits) { path in
            let client = try LineSocket(connectingTo: path)
            #expect(try await client.ask("watch").seq == 0)
            for _ in 1...4 {
                let last = machine.snapshot.seq
                // Together they fit the socket's buffer, so no reader is slow.
                for degrees in 1...400 { machine.state = .open(degrees: degrees) }
                for seq in last + 1...last + 400 {
                    #expect(try await client.next().seq == Int(seq))
                }
            }
        }
    }

    /// A delegate of the program and a client's guard are asked about the same set.
    @Test func aDelegateAndAGuardAreAskedTogetherAndWhoSaysNoIsNamed() async throws {
        let machine = StateMachine(DoorState.closed)
        machine.addVoter(label: "caretaker", on: .queue(DispatchQueue(label: "caretaker"))) {
            switch $0.proposed {
            case .locked: .no("nobody locks")
            case .closed, .open: .yes
            }
        }
        try await self.withDaemon(machine) { path in
            let client = try LineSocket(connectingTo: path)
            let guarding = try await client.ask(
                #"{"op":"guard","id":"g","before":["open","locked"],"timeoutMs":60000}"#
            )
            let setter = try LineSocket(connectingTo: path)

            // The delegate allows it, the guard does not.
            try setter.send("set open degrees=90")
            let ask = try await client.next()
            #expect(try await client.vote(ask, false, "wet paint").ok == true)
            let byGuard = try await setter.next()
            #expect(byGuard.error == "denied")
            #expect(byGuard.items("by")?.map { $0.int("guard") } == [guarding.int("guard")])
            #expect(byGuard.items("by")?.map { $0.string("why") } == ["wet paint"])

            // The guard is silent, the delegate denies it.
            let byDelegate = try await setter.ask(
                #"{"op":"set","state":"locked","data":{"by":"Eve"}}"#
            )
            let denial = try #require(byDelegate.items("by")?.first)
            #expect(byDelegate.items("by")?.count == 1)
            #expect(denial.string("delegate") == "caretaker")
            #expect(denial.string("why") == "nobody locks")
            #expect(denial.int("pid") == Int(getpid()))
            #expect(byDelegate.string("message") == "denied by caretaker (nobody locks)")

            // The same guard holds up what the program proposes.
            let proposing = Task {
                try await machine.propose(.open(degrees: 30))
            }
            var question = try await client.next()
            while question.item("to")?.item("data")?.int("degrees") != 30 {
                question = try await client.next()
            }
            _ = try await client.vote(question, true)
            _ = try await proposing.value
            #expect(machine.state == .open(degrees: 30))
        }
    }

    @Test func describeTellsTheEnumsOwnRules() async throws {
        try await self.withDaemon(StateMachine(DoorState.closed)) { path in
            let described = try await LineSocket(connectingTo: path).ask("describe")
            for part in [
                #"{"state":"locked","fields":{"by":{"type":"string"}}}"#,
                #"{"state":"open","fields":{"degrees":{"type":"integer"}}}"#,
                #""initial":{"state":"closed","data":{}}"#,
                #""locked":["closed"],"closed":["locked","open"],"open":["closed","open"]"#,
            ] {
                #expect(described.description.contains(part), "\(described)")
            }
        }
    }

    @Test func aStateTooLongToSendIsRefusedWhenItIsSet() async throws {
        try await self.withDaemon(StateMachine(DoorState.closed)) { path in
            let client = try LineSocket(connectingTo: path)
            // U+2028 takes three bytes when it is received and six when it is sent.
            let text = String(repeating: "\u{2028}", count: 15_000)
            let refusal = try await client.ask(
                #"{"op":"set","state":"locked","data":{"by":"\#(text)"}}"#
            )
            #expect(refusal.error == "too-long")
            #expect(refusal.seq == nil)
            let pong = try await client.ask("ping")
            #expect(pong.seq == 0)
        }
    }

    /// A client's set puts a question to the program's own voter.
    ///
    /// Here, work for an event loop that has ended ends the process.
    @Test func aVoteAfterTheDaemonsEndIsNobodysAnyMore() async {
        await #expect(processExitsWith: .success) {
            setenv("SWIFTNIO_STRICT", "1", 1)
            let machine = StateMachine(DoorState.closed)
            let asks = Recorder<Ask>()
            machine.machine.addVoter(
                .init(label: "late"),
                on: .queue(DispatchQueue(label: "late"))
            ) { asks.record($0) }
            try await EmbeddedDaemonTests().withDaemon(machine) { path in
                let client = try LineSocket(connectingTo: path)
                try client.send("set open degrees=90")
                await asks.wait(for: 1)
            }
            asks.heard[0].vote(.yes)
        }
    }
}

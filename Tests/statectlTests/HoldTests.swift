import DaemonScripts
import StateMachineClient
import TestSupport
import Testing

@testable import statectl

@Suite(.bounded) struct HoldTests {
    private static let request = #"{"op":"hold","before":["a"],"why":"w"}"#
    private static let no = #"{"type":"reply","ok":false,"error":"limit","message":"full"}"#

    private static func taken(_ number: Int) -> Step {
        .send(#"{"type":"reply","ok":true,"hold":\#(number)}"# + "\n")
    }

    private func hold(_ daemon: ScriptedDaemon) -> Hold {
        daemon.client.hold(before: ["a"], why: "w", clock: InstantClock())
    }

    private func run(_ daemon: ScriptedDaemon, _ complaints: Recorder<String>) -> HoldRun {
        HoldRun(hold: self.hold(daemon), complain: { complaints.record($0) })
    }

    @Test func aLostHoldIsTakenAnew() async throws {
        let control = ScriptedDoor(
            [.awaitRequest, Self.taken(3), .close],
            [.awaitRequest, Self.taken(4)]
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            var events: [String] = []
            for try await event in self.hold(daemon) {
                switch event {
                case .taken(let number): events.append("taken \(number)")
                case .interrupted(_, let attempt, _): events.append("interrupted \(attempt)")
                }
                if events.count == 3 { break }
            }
            #expect(events == ["taken 3", "interrupted 1", "taken 4"])
            #expect(control.requests == [Self.request, Self.request])
        }
    }

    @Test(arguments: [nil, no])
    func theCommandIsNotRunWithoutTheHold(answer: String?) async throws {
        let control = answer.map { ScriptedDoor([.awaitRequest, .send($0 + "\n")]) }
        try await Scratch.with { scratch in
            try await ScriptedDaemon.with(control: control) { daemon in
                let command = try #require(ChildCommand(["touch", "\(scratch.path)/ran"]))
                let error = await #expect(throws: ClientError.self) {
                    try await self.run(daemon, Recorder()).keep(during: command)
                }
                #expect(error.map { ExitStatus($0) } == (answer == nil ? .unreachable : .no))
                #expect(try scratch.names == [])
            }
        }
    }

    @Test func aHoldThatIsNotGivenAgainDoesNotEndTheCommand() async throws {
        let control = ScriptedDoor(
            [.awaitRequest, Self.taken(3), .close],
            [.awaitRequest, Self.taken(4), .close],
            [.awaitRequest, .send(Self.no + "\n")]
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            let complaints = Recorder<String>()
            try await Scratch.with { scratch in
                // The command waits on a FIFO, and the last complaint releases it.
                let fifo = try FIFO(beside: scratch.path)
                let complain: @Sendable (String) -> Void = { complaint in
                    complaints.record(complaint)
                    if complaint.hasPrefix("full") { try? fifo.open() }
                }
                let run = HoldRun(hold: self.hold(daemon), complain: complain)
                let script = "read go <\(fifo.path); exit 5"
                let command = try #require(ChildCommand(["sh", "-c", script]))
                #expect(try await run.keep(during: command) == .exited(5))
            }
            let path = daemon.directory.socketPath(of: .control)
            let lost = "the connection to \(path) was lost; reconnecting"
            #expect(
                complaints.heard == [
                    lost, "connected; hold 4 is taken again", lost,
                    "full; continuing without the hold",
                ]
            )
        }
    }
}

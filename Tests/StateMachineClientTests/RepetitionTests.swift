import DaemonScripts
import Glibc
import StateMachineTesting
import TestSupport
import Testing

@testable import StateMachineClient

/// A change that is asked for again while it is put off.
@Suite(.bounded) struct RepetitionTests {
    private static let denied =
        #"{"type":"reply","ok":false,"error":"denied","message":"no","by":[],"seq":4,"state":"a","data":{},"cursor":"e:4"}"#
    private static let done = #"{"type":"reply","ok":true,"changed":true,"seq":6,"cursor":"e:6"}"#
    private static let change =
        #"{"type":"change","seq":5,"state":"b","data":{},"cursor":"e:5","replay":true}"#

    private static func step(_ answer: String) -> [Step] { [.awaitRequest, .send(answer + "\n")] }

    /// The clock stands still, so that nothing but the change can be what has it asked again.
    @Test func whatIsDeniedIsAskedForAgainAfterAChange() async throws {
        let control = ScriptedDoor(
            Self.step(Self.denied),
            Self.step(Self.change) + [.awaitRequest],
            Self.step(Self.done)
        )
        try await ScriptedDaemon.with(control: control) { daemon in
            var reasons: [ClientError] = []
            let reply = try await daemon.client.reply(
                to: .set("c"),
                tryingFor: .seconds(60),
                clock: ManualClock(),
                putOff: { reasons.append($0) }
            )
            #expect(reply.text == Self.done)
            #expect(reasons == [.refused(try Line.of(Self.denied))])
            let watch = #"{"op":"watch","since":"e:4","mode":"latest","everyMs":200}"#
            let set = #"{"op":"set","state":"c"}"#
            #expect(control.requests == [set, watch, set])
        }
    }

    /// At 0, 0.2, 0.6, 1.4, 3 and 5 s, and at the end.
    @Test func itIsAskedForAfterPausesThatGrowAndAtTheEnd() async throws {
        // One of the connections is the watch's, to which this is a refusal.
        let denial = Self.step(Self.denied)
        let door = ScriptedDoor(first: denial, others: denial)
        try await ScriptedDaemon.with(control: door) { daemon in
            let clock = InstantClock()
            let end = await #expect(throws: TimeUp.self) {
                try await daemon.client.reply(
                    to: .set("c"),
                    tryingFor: .milliseconds(5500),
                    clock: clock
                )
            }
            let last = try Line.of(Self.denied)
            #expect(end?.last == .refused(last))
            #expect(clock.now.duration(to: .init(offset: .milliseconds(5500))) == .zero)
            #expect(door.requests.count { $0.contains("set") } == 7)
        }
    }

    @Test(arguments: [
        #"{"type":"reply","ok":false,"error":"conflict","message":"m","seq":4,"state":"a"}"#,
        #"{"type":"reply","ok":false,"error":"illegal-transition","message":"m","seq":4,"state":"a"}"#,
        #"{"type":"reply","ok":false,"error":"shutting-down","message":"m","seq":4,"state":"a"}"#,
        #"{"type":"reply","ok":false,"error":"internal","message":"m","unsure":true,"seq":4,"state":"a"}"#,
        #"{"type":"reply","ok":false,"error":"limit","message":"too many patterns"}"#,
    ])
    func whatWaitingDoesNotHelpIsTheAnswer(refusal: String) async throws {
        // The watch connects before or after the second attempt, and is refused.
        let control = ScriptedDoor(first: Self.step(Self.denied), others: Self.step(refusal))
        try await ScriptedDaemon.with(control: control) { daemon in
            let reply = try await daemon.client.reply(
                to: .set("c"),
                tryingFor: .seconds(60),
                clock: InstantClock()
            )
            #expect(reply.text == refusal)
            #expect(control.requests.count { $0.contains("set") } == 2)
        }
    }

    /// An event that is sent twice may do twice what it does.
    @Test func whatMayHaveBeenDoneIsNotAskedForAgain() async throws {
        let control = ScriptedDoor([.awaitRequest, .close], Self.step(Self.done))
        try await ScriptedDaemon.with(control: control) { daemon in
            let path = daemon.directory.socketPath(of: .control)
            await #expect(throws: ClientError.lost(path: path)) {
                try await daemon.client.reply(to: .send("e"), tryingFor: .seconds(60))
            }
            #expect(control.requests.count == 1)
        }
    }

    @Test func aDaemonThatIsNotThereForAWhileIsWaitedFor() async throws {
        let control = ScriptedDoor(Self.step(Self.done))
        try await ScriptedDaemon.with(control: control) { daemon in
            let path = daemon.directory.socketPath(of: .control)
            #expect(rename(path, "\(path).away") == 0)
            var attempts = 0
            let reply = try await daemon.client.reply(
                to: .set("c"),
                tryingFor: .seconds(60),
                clock: InstantClock(),
                putOff: { reason in
                    attempts += 1
                    guard case .unreachable = reason, attempts == 3 else { return }
                    #expect(rename("\(path).away", path) == 0)
                }
            )
            #expect(reply.text == Self.done && attempts == 3)
        }
    }
}

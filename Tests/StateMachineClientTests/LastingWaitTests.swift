import StateMachineClient
import StateMachineCore
import TestSupport
import Testing

@testable import statectl

@Suite(.bounded) struct LastingWaitTests {
    private static func line(_ seq: Int, _ rest: String = #""ok":true,"ageMs":0"#) -> Step {
        .send(#"{"type":"reply","seq":\#(seq),"cursor":"e:\#(seq)",\#(rest)}"# + "\n")
    }

    /// A wait says where it begins before it is answered.
    private static func wait(_ seq: Int, _ rest: String = #""ok":true"#) -> [Step] {
        [.awaitRequest, Self.line(seq), .awaitRequest, Self.line(seq, rest)]
    }

    private static let timeout = #""ok":false,"error":"timeout","message":"""#

    /// The second state counts from its beginning, as it was left meanwhile, and over an update.
    @Test func aStateThatWasLeftStartsOver() async throws {
        let get = { (seq: Int) -> [Step] in [.awaitRequest, Self.line(seq)] }
        let door = ScriptedDoor(
            Self.wait(1),
            get(1),
            Self.wait(2),
            Self.wait(3),
            get(3),
            Self.wait(4, Self.timeout),
            get(4)
        )
        try await ScriptedDaemon.with(control: door) { daemon in
            let wait = LastingWait(client: daemon.client, patterns: ["a"], span: .seconds(60))
            let lasted = try await wait.run()
            #expect(lasted.seq == 4)
        }
        let waits = door.requests.filter { $0.contains(#""op":"wait""#) }
        #expect(waits.map { $0.contains(#""!a""#) } == [false, true, false, true])
        #expect(waits.map { $0.contains(#""since":"e:1""#) } == [true, true, false, false])
        #expect(waits.map { $0.contains(#""since":"e:2""#) } == [false, false, true, false])
        #expect(waits.map { $0.contains(#""since":"e:3""#) } == [false, false, false, true])
    }

    @Test func aNumberingThatHasBegunAgainStartsOver() async throws {
        let other = #"{"type":"reply","ok":true,"seq":0,"cursor":"f:0","ageMs":0}"# + "\n"
        let door = ScriptedDoor(
            Self.wait(1),
            [.awaitRequest, Self.line(1)],
            Self.wait(1, Self.timeout),
            [.awaitRequest, .send(other)],
            Self.wait(2),
            [.awaitRequest, Self.line(2)],
            Self.wait(2, Self.timeout),
            [.awaitRequest, Self.line(2)]
        )
        try await ScriptedDaemon.with(control: door) { daemon in
            let wait = LastingWait(client: daemon.client, patterns: ["!a"], span: .seconds(60))
            let lasted = try await wait.run()
            #expect(lasted.seq == 2)
        }
    }

    /// The daemon counts by a clock that nobody sets; an older one says nothing, and the wall clock has to do.
    @Test func howLongItHasLastedIsForTheDaemonToSay() throws {
        let now = WallTime(microseconds: 1_763_675_745_000_000)
        func age(_ seconds: Int64, _ rest: String = "") throws -> Duration {
            let at = WallTime(microseconds: now.microseconds - seconds * 1_000_000).rfc3339
            return try Line.of(#"{"type":"reply","at":"\#(at)"\#(rest)}"#).age(at: now)
        }
        #expect(try age(86_400, #","ageMs":1500"#) == .milliseconds(1500))
        #expect(try age(30) == .seconds(30))
        #expect(try age(-30) == .zero)
    }
}

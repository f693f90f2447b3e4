import DaemonScripts
import StateMachineLinks
import StateMachineProtocol
import StateMachineServer
import TestSupport
import Testing

/// Following a daemon that lies, hangs, or comes and goes.
@Suite(.bounded) struct LinkedMachinesTests {
    private static let greeting =
        #"{"type":"state","seq":7,"state":"on","data":{},"cursor":"e:7"}"# + "\n"
    private static let answers = [
        #"{"type":"reply","ok":true}"#,
        #"{"type":"reply","id":"describe","ok":true,"states":[{"state":"on","fields":{}},{"state":"off","fields":{}}]}"#,
    ].map { $0 + "\n" }

    private static func begin(_ rest: Step...) -> [Step] {
        [.send(self.greeting), .awaitRequest, .awaitRequest, .awaitRequest]
            + self.answers.map { .send($0) } + rest
    }

    private static func state(_ seq: Int, _ state: String) -> Step {
        .send(
            #"{"type":"state","id":"watch","seq":\#(seq),"state":"\#(state)","data":{},"cursor":"e:\#(seq)"}"#
                + "\n"
        )
    }

    private static func change(_ seq: Int) -> Step {
        .send(
            #"{"type":"change","id":"watch","seq":\#(seq),"state":"off","data":{},"from":{"state":"on","data":{}},"cursor":"e:\#(seq)"}"#
                + "\n"
        )
    }

    /// What is told until there has been that.
    private func told(
        by door: ScriptedDoor,
        until last: String,
        patience: Duration = .seconds(10)
    ) async throws -> [String] {
        let told = Recorder<String>()
        try await ScriptedDaemon.with(events: door) { daemon in
            let machines = LinkedMachines(
                besides: "/nowhere",
                of: nil,
                patience: patience,
                process: 0
            )
            let (lines, line) = AsyncStream.makeStream(of: String.self)
            let link = Link("l", at: .directory(daemon.directory.path))
            let task = Task {
                await machines.watch(link, since: "e:7") { news in
                    switch news {
                    case .described(let schema): line.yield("\(schema.names)")
                    case .state(let state, let cursor): line.yield("\(state.name) \(cursor)")
                    case .unseen(let why):
                        line.yield(why.replacing(daemon.directory.path, with: "DIR"))
                    }
                }
            }
            for await line in lines {
                told.record(line)
                if line.hasPrefix(last) { break }
            }
            task.cancel()
            await task.value
            await machines.end()
        }
        return told.heard
    }

    @Test func aLostConnectionIsMadeAgainFromWhereItWas() async throws {
        let door = ScriptedDoor(
            Self.begin(Self.change(8), .close),
            Self.begin(Self.change(9))
        )
        let told = try await self.told(by: door, until: "off e:9")
        #expect(
            told == [
                #"["on", "off"]"#, "on e:7", "off e:8",
                "the connection to DIR/events.sock was lost", #"["on", "off"]"#,
                "on e:8", "off e:9",
            ]
        )
        let requests = door.requests
        #expect(requests.filter { $0.contains(#""since":"e:7""#) }.count == 1)
        #expect(requests.filter { $0.contains(#""since":"e:8""#) }.count == 1)
    }

    @Test func oneThatHangsIsNotSeen() async throws {
        let door = ScriptedDoor(first: [.send(Self.greeting)], others: [])
        let told = try await self.told(
            by: door,
            until: "the daemon on",
            patience: .milliseconds(200)
        )
        #expect(told.first?.contains("has not answered for") == true, "\(told)")
    }

    @Test func oneThatHangsLaterIsNotSeenEither() async throws {
        let door = ScriptedDoor(Self.begin(Self.change(8)))
        let told = try await self.told(
            by: door,
            until: "the daemon on",
            patience: .seconds(2)
        )
        #expect(told.dropLast() == [#"["on", "off"]"#, "on e:7", "off e:8"])
        #expect(told.last?.contains("has not answered for") == true, "\(told)")
        #expect(door.requests.contains { $0.contains(#""beatMs":1000"#) })
    }

    @Test func oneWhoseNumbersGoBackIsNotSeen() async throws {
        let door = ScriptedDoor(Self.begin(Self.state(9, "on"), Self.change(8)))
        let told = try await self.told(by: door, until: "what answers")
        #expect(told.last == "what answers on DIR/events.sock sent change 8 after 9")
    }

    @Test func aLineWithoutEndIsNotRead() async throws {
        let piece = String(repeating: "x", count: 1 << 20)
        let door = ScriptedDoor(
            Self.begin(Self.state(9, "on")) + (0..<17).map { _ in .send(piece) }
        )
        let told = try await self.told(by: door, until: "what answers")
        #expect(
            told.last
                == "what answers on DIR/events.sock sent a line longer than 16 MiB, the longest that is allowed"
        )
    }

    @Test func whatIsNoLineIsNotRead() async throws {
        let door = ScriptedDoor(Self.begin(.send("HTTP/1.1 400 Bad Request\n")))
        let told = try await self.told(by: door, until: "what answers")
        #expect(told.last?.contains("is not a statemachine daemon") == true)
    }
}

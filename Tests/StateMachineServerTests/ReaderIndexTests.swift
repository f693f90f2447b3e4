import NIOCore
import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineServer

/// Watches and waits that rest until a state comes that they may want.
@Suite(.bounded) struct ReaderIndexTests {
    private static func connection(of server: StateServer) throws -> Connection {
        try #require(server.clients.first { _ in true })
    }

    /// Lets what has happened be told, and looks whether the client's readers rest.
    private static func expectRest(_ lone: LoneServer, _ isExpected: Bool = true) async throws {
        lone.send("ping")
        let answer = lone.line()
        #expect(answer.hasPrefix(#"{"type":"reply","ok":true,"seq":"#))
        let isResting = try await lone.onLoop { server in
            let connection = try Self.connection(of: server)
            return connection.watches.areAtRest && connection.waits.areAtRest
        }
        #expect(isResting == isExpected)
    }

    /// Has the client watch the states of that pattern, and lets the watch rest.
    private static func rest(_ lone: LoneServer, watching pattern: String) async throws {
        lone.send(#"{"op":"watch","id":1,"only":["\#(pattern)"]}"#)
        #expect(lone.line().contains(#""id":1"#))
        try await Self.expectRest(lone)
    }

    @Test(arguments: [
        "locked", "open:degrees=7", "locked:by=x",
        #"{"state":"open","data":{"degrees":7}}"#,
        "open:degrees>5", "open:degrees>=7", "open:degrees>4,degrees<9",
        "open:degrees>4,degrees!=8",
        "open:degrees=7,degrees<=7", #"{"state":"open","where":["degrees=7"]}"#,
    ])
    func whoWantsAStateIsFoundByIt(pattern: String) async throws {
        try await LoneServer.run { lone in
            let written = JSONValue(typed: pattern).description
            lone.send(#"{"op":"wait","id":1,"until":[\#(written)]}"#)
            lone.send(#"{"op":"watch","id":2,"only":[\#(written)]}"#)
            #expect(lone.line().contains(#""id":2"#))
            try await Self.expectRest(lone)
            for degrees in 0..<5 { lone.machine.state = .open(degrees: degrees) }
            try await Self.expectRest(lone)
            lone.machine.state = .open(degrees: 7)
            lone.machine.state = .closed
            lone.machine.state = .locked(by: "x")
            lone.machine.state = .closed
            let lines = [lone.line(), lone.line()]
            let seq = pattern.contains("open") ? 6 : 8
            #expect(lines.contains { $0.contains(#""type":"change","id":2,"seq":\#(seq),"#) })
            #expect(lines.contains { $0.contains(#""id":1"#) && $0.contains(#""seq":\#(seq),"#) })
            // The wait is over, and the watch rests again.
            try await Self.expectRest(lone)
            let count = try await lone.onLoop { try Self.connection(of: $0).user.readers.count }
            #expect(count == 1)
        }
    }

    /// However many wait for more: what does not reach their bounds looks at none of them.
    @Test func whoWaitsForMoreIsNotLookedAt() async throws {
        try await LoneServer.run { lone in
            lone.send("ping")
            _ = lone.line()
            try await lone.onLoop { server in
                let connection = try Self.connection(of: server)
                let schema = server.states
                let readers = try (0..<16_000).map { number in
                    let list = PatternList([
                        try schema.resolved(Pattern(text: "open:degrees>=\(100 + number)"))
                    ])
                    let reader = RestingCursor(after: server.past.ring.head)
                    reader.rest(at: list.readerBuckets, of: connection.output)
                    #expect(reader.isResting)
                    return reader
                }
                let user = connection.user
                lone.machine.state = .open(degrees: 99)
                server.catchUp()
                #expect(server.search(for: user, until: .distantFuture))
                #expect(user.readers.count == 16_000 && user.readers.seq == 1)
                lone.machine.state = .open(degrees: 101)
                server.catchUp()
                #expect(server.search(for: user, until: .distantFuture))
                #expect(user.readers.count == 15_998)
                #expect(!readers[0].isResting && !readers[1].isResting && readers[2].isResting)
                lone.machine.state = .open(degrees: 1_000_000)
                server.catchUp()
                #expect(server.search(for: user, until: .distantFuture))
                #expect(user.readers.count == 0)
            }
        }
    }

    /// No state is found where everything but one is wanted.
    @Test func whoWantsAllOthersDoesNotRest() async throws {
        try await LoneServer.run { lone in
            lone.send(#"{"op":"watch","id":1,"only":["!open"]}"#)
            #expect(lone.line().contains(#""id":1"#))
            try await Self.expectRest(lone, false)
        }
    }

    /// It is found by what it selects, and compared with what it excepts.
    @Test func whoIsFoundInVainRestsAgain() async throws {
        try await LoneServer.run { lone in
            lone.send(#"{"op":"watch","id":1,"only":["open","!open:degrees=7"]}"#)
            #expect(lone.line().contains(#""id":1"#))
            lone.machine.state = .open(degrees: 7)
            try await Self.expectRest(lone)
            lone.machine.state = .open(degrees: 8)
            #expect(lone.line().contains(#""seq":2,"#))
        }
    }

    /// What a resting watch is due goes before the answer to its client's own set.
    @Test func aReplyComesAfterTheChangesOfAWatchThatRests() async throws {
        try await LoneServer.run { lone in
            try await Self.rest(lone, watching: "open:degrees=7")
            lone.send("set open degrees=7", "set open degrees=8")
            #expect(lone.line().contains(#""type":"change","id":1,"seq":1,"#))
            #expect(lone.line().contains(#""type":"reply""#))
            #expect(lone.line().contains(#""seq":2,"#))
        }
    }

    @Test func whoRestedBehindTheRingIsToldSo() async throws {
        try await LoneServer.run { lone in
            try await Self.rest(lone, watching: "open:degrees=7")
            try await lone.onLoop { server in
                let user = try Self.connection(of: server).user
                // It has had no turn while the ring went round.
                server.turns.search = { _, _ in false }
                for degrees in 0..<10_000 { lone.machine.state = .open(degrees: degrees % 5) }
                server.catchUp()
                #expect(user.readers.seq < server.past.ring.first)
                server.turns.search = { server.search(for: $0, until: $1) }
            }
            let line = lone.line()
            #expect(line.contains(#""resync":"lagged","missed":10000"#))
        }
    }

    /// Whoever goes leaves no trace in the index.
    @Test func aWatchThatEndsIsNotLookedFor() async throws {
        try await LoneServer.run { lone in
            for id in 1...3 {
                lone.send(
                    #"{"op":"watch","id":\#(id),"only":["open:degrees=\#(id % 2)","locked"]}"#
                )
                #expect(lone.line().contains(#""id":\#(id)"#))
            }
            try await Self.expectRest(lone)
            for id in [1, 3, 2] {
                lone.send(#"{"op":"unwatch","id":\#(id)}"#)
                #expect(lone.line().contains(#""type":"reply""#))
            }
            let count = try await lone.onLoop { try Self.connection(of: $0).user.readers.count }
            #expect(count == 0)
        }
    }

    /// A round looks at nobody who rests, nor at who has nothing.
    @Test func whoRestsIsNotAwake() async throws {
        try await LoneServer.run { lone in
            try await Self.rest(lone, watching: "locked")
            try await lone.onLoop { server in
                lone.machine.state = .open(degrees: 1)
                server.catchUp()
                server.turns.begin(upTo: server.past.ring.head)
                #expect(server.turns.awake == 0)
                #expect(server.turns.flushed == 1)
            }
            lone.machine.state = .closed
            lone.machine.state = .locked(by: "x")
            #expect(lone.line().contains(#""seq":3,"#))
        }
    }

    /// One that has gone may still be written to by what was answered for it.
    @Test func aConnectionThatIsGoneIsNotWoken() async throws {
        try await LoneServer.run { lone in
            lone.send("ping")
            #expect(lone.line().contains(#""seq":0"#))
            try await lone.onLoop { server in
                let connection = try Self.connection(of: server)
                server.turns.remove(connection)
                server.turns.wake(connection)
                #expect(server.turns.awake == 0)
                server.turns.add(connection)
                #expect(server.turns.awake == 1)
            }
        }
    }

    /// The account of a user is one, though its connections come and go in one reading of the loop.
    @Test func anAccountLastsAsLongAsItsConnections() {
        let users = Users(limits: ServerLimits(), ownUid: 0)
        var first: User? = users.account(of: 7)
        let second = users.account(of: 7)
        #expect(first === second)
        first = nil
        #expect(users.account(of: 7) === second)
        #expect(users.withResting.isEmpty)
    }

    /// A request of a few bytes that stands for many states is not looked for at each of them.
    @Test func whoWouldStandAtTooManyPlacesDoesNotRest() {
        let few = PatternList((0..<64).map { Pattern(writing: .string("state\($0)")) })
        #expect(ReaderIndex.places(few.readerBuckets)?.count == 64)
        let many = PatternList((0..<65).map { Pattern(writing: .string("state\($0)")) })
        #expect(ReaderIndex.places(many.readerBuckets) == nil)
    }

    /// What a search that has no time has not come to is found by the next one, once.
    @Test func aSearchThatIsCutShortGoesOnWhereItWas() async throws {
        try await LoneServer.run { lone in
            for id in 1...8 {
                let patterns = (0..<16).map { "\"open:degrees=\($0)\"" }.joined(separator: ",")
                lone.send(#"{"op":"watch","id":\#(id),"only":[\#(patterns)]}"#)
                #expect(lone.line().contains(#""id":\#(id)"#))
            }
            try await Self.expectRest(lone)
            try await lone.onLoop { server in
                let user = try Self.connection(of: server).user
                lone.machine.state = .open(degrees: 3)
                server.catchUp()
                // Two readers leave 32 places, and then the clock is looked at.
                #expect(!server.search(for: user, until: .uptimeNanoseconds(0)))
                #expect(user.readers.count == 6 && user.readers.seq == 0)
            }
            var ids: Set<Int> = []
            for _ in 1...8 {
                let line = lone.line()
                #expect(line.contains(#""seq":1,"#))
                if let id = (1...8).first(where: { line.contains(#""id":\#($0),"#) }) {
                    ids.insert(id)
                }
            }
            #expect(ids.count == 8)
            try await Self.expectRest(lone)
        }
    }
}

import Glibc
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import StateMachineServer

/// Whose turn it is, between what the loop polls for.
@Suite(.bounded) struct TurnsTests {
    /// Notes of each input whether the connection is still in line by then.
    private final class Witness: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let turns: Turns
        private let connection: Connection
        private let wasInLine: EventLoopPromise<Bool>

        init(_ turns: Turns, _ connection: Connection, _ wasInLine: EventLoopPromise<Bool>) {
            (self.turns, self.connection, self.wasInLine) = (turns, connection, wasInLine)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.turns.arrived()
            self.wasInLine.succeed(self.connection.standing.isInLine)
        }
    }

    /// Otherwise turns are given for the bell, and once more for the request that the same poll has brought.
    @Test func whatHasArrivedIsReadBeforeTurnsAreGiven() async throws {
        try await LoneServer.run { lone in
            lone.send("ping")
            #expect(lone.line().contains(#""seq":0"#))
            var ends: [CInt] = [-1, -1]
            try #require(pipe(&ends) == 0)
            let (input, output) = (ends[0], ends[1])
            defer { close(output) }
            let bell = try await LoopBell.make(on: lone.group)
            let (wasInLine, turns) = try await lone.onLoop { server in
                let turns = Turns(on: server.loop, bell: bell.value, after: 0)
                return (
                    server.loop.makePromise(of: Bool.self),
                    NIOLoopBound(turns, eventLoop: server.loop)
                )
            }
            let connection = try await lone.onLoop { server in
                let connection = try #require(server.clients.first { _ in true })
                return NIOLoopBound(connection, eventLoop: server.loop)
            }
            let request = try await NIOPipeBootstrap(group: lone.group)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let witness = Witness(turns.value, connection.value, wasInLine)
                        try channel.pipeline.syncOperations.addHandler(witness)
                    }
                }
                .takingOwnershipOfDescriptor(input: input).get()
            try await lone.onLoop { _ in
                turns.value.add(connection.value)
                turns.value.enqueue(connection.value)
                bell.value.ring()
                // What comes after the bell, and is found by the same poll.
                #expect(write(output, "x", 1) == 1)
            }
            let isFirst = try await wasInLine.futureResult.get()
            #expect(isFirst)
            while try await lone.onLoop({ _ in connection.value.standing.isInLine }) {}
            try await request.close()
            try await lone.onLoop { _ in turns.value.stop() }
        }
    }

    /// Calls `body` on a loop with turns of its own and a connection.
    private func withTurns(
        _ body: @escaping @Sendable (Turns, Connection) throws -> Void,
        then later: @escaping @Sendable (Turns, Connection) throws -> Void = { _, _ in }
    ) async throws {
        try await LoneServer.run { lone in
            lone.send("ping")
            #expect(lone.line().contains(#""seq":0"#))
            let bell = try await LoopBell.make(on: lone.group)
            let parts = try await lone.onLoop { server in
                let turns = Turns(on: server.loop, bell: bell.value, after: 0)
                let connection = try #require(server.clients.first { _ in true })
                turns.add(connection)
                try body(turns, connection)
                return NIOLoopBound((turns, connection), eventLoop: server.loop)
            }
            try await lone.onLoop { _ in
                try later(parts.value.0, parts.value.1)
                parts.value.0.stop()
            }
        }
    }

    @Test func whatIsReadTogetherHasTheTimeOfATurn() async throws {
        try await self.withTurns { turns, connection in
            #expect(turns.mayServe(connection))
            while NIODeadline.now() < turns.end {}
            #expect(!turns.mayServe(connection))
        } then: { turns, connection in
            // The loop has gone round since.
            #expect(turns.mayServe(connection))
        }
    }

    @Test func nobodyIsServedPastThoseInLine() async throws {
        try await self.withTurns { turns, connection in
            #expect(turns.enqueue(connection))
            #expect(!turns.enqueue(connection))
            #expect(!turns.mayServe(connection))
            connection.user.waiting.removeAll()
            connection.standing.isInLine = false
        }
    }

    @Test func aRoundWithNobodyToWriteToIsOverAtOnceAndGoesBackNowhere() async throws {
        try await self.withTurns { turns, _ in
            turns.begin(upTo: 7)
            #expect(turns.flushed == 7)
            turns.begin(upTo: 3)
            #expect(turns.flushed == 7)
        }
    }

    @Test func whoeverComesIsAcceptedLaterOnlyIfSomebodySets() async throws {
        try await self.withTurns { turns, _ in
            let earlier = NIODeadline.now() - .milliseconds(10)
            #expect(turns.accepted(since: .now()) == nil)
            #expect(turns.accepted(since: earlier) == nil)
            turns.setCame()
            // Four times the time, which counts four times: a fifth of it is left for those who come.
            #expect(turns.accepted(since: earlier) ?? .zero >= .milliseconds(160))
            // The set has been paid for.
            #expect(turns.accepted(since: earlier) == nil)
        }
    }
}

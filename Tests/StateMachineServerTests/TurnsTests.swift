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
}

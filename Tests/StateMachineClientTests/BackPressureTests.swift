import NIOCore
import NIOEmbedded
import Testing

@testable import StateMachineClient

@Suite struct BackPressureTests {
    /// Counts how often the pipeline asked its socket for more.
    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private(set) var count = 0

        func read(context: ChannelHandlerContext) {
            self.count += 1
            context.read()
        }
    }

    @Test func aReaderThatStopsLeavesTheRestInTheSocket() async throws {
        let channel = NIOAsyncTestingChannel()
        let loop = channel.testingEventLoop
        let (lines, counter) = try await loop.executeInContext {
            let counter = ReadCounter()
            try channel.pipeline.syncOperations.addHandler(counter)
            let lines = try LineReader.add(to: channel, path: "/s")
            return (lines, NIOLoopBound(counter, eventLoop: loop))
        }
        func reads() async throws -> Int {
            await loop.run()
            return try await loop.executeInContext { counter.value.count }
        }
        try await channel.connect(to: try SocketAddress(unixDomainSocketPath: "/s"))
        let iterator = lines.makeAsyncIterator()

        try await channel.writeInbound(ByteBuffer(string: "{}\n"))
        #expect(try await iterator.next() == Array("{}".utf8))
        let unhindered = try await reads()

        try await channel.writeInbound(ByteBuffer(string: String(repeating: "{}\n", count: 300)))
        #expect(try await reads() == unhindered)

        for _ in 0..<300 { _ = try await iterator.next() }
        #expect(try await reads() == unhindered + 1)
    }
}

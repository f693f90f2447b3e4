import DaemonScripts
import NIOCore
import NIOEmbedded
import NIOPosix
import TestSupport
import Testing

@testable import StateMachineClient

@Suite(.bounded) struct ConnectionTests {
    private static let state = #"{"type":"state","seq":1,"state":"a","data":{},"cursor":"e:1"}"#

    private func texts(_ connection: Connection) async throws -> [String] {
        var texts: [String] = []
        for try await line in connection.lines { texts.append(line.text) }
        return texts
    }

    @Test func linesComeAsTheyWereSentAndAnUnfinishedLastOneIsDropped() async throws {
        let door = ScriptedDoor([
            .send(Self.state + "\n" + Self.state), .send("\n"), .send(#"{"type":"change","#),
            .close,
        ])
        try await ScriptedDaemon.with(events: door) { daemon in
            let connection = try await daemon.client.connect(to: .events)
            let found = try await self.texts(connection)
            #expect(found == [Self.state, Self.state])
        }
    }

    @Test func everyLineOfALongBurstArrives() async throws {
        let lines = (1...5000).map { #"{"type":"change","seq":\#($0)}"# }
        let door = ScriptedDoor([.send(lines.map { $0 + "\n" }.joined()), .close])
        try await ScriptedDaemon.with(events: door) { daemon in
            let connection = try await daemon.client.connect(to: .events)
            let found = try await self.texts(connection)
            #expect(found == lines)
        }
    }

    @Test func whatIsNotTheProtocolIsSaidToBeSo() async throws {
        let door = ScriptedDoor([.send("220 mail ready\n")])
        try await ScriptedDaemon.with(events: door) { daemon in
            let connection = try await daemon.client.connect(to: .events)
            let path = daemon.directory.socketPath(of: .events)
            await #expect(throws: ClientError.malformed(path: path, #"it sent "220 mail ready""#)) {
                try await self.texts(connection)
            }
        }
    }

    @Test func aDenialThatNamesManyHoldsIsRead() async throws {
        let by = String(repeating: "x", count: 1_600_000)
        let line = #"{"type":"reply","ok":false,"error":"denied","message":"\#(by)"}"#
        try await ScriptedDaemon.with(events: ScriptedDoor([.send("\(line)\n")])) {
            daemon in
            let connection = try await daemon.client.connect(to: .events)
            let lines = connection.lines.makeAsyncIterator()
            let found = try await lines.next()?.text
            #expect(found == line)
            await connection.close()
        }
    }

    @Test func aLineWithoutEndIsSaidToBeTooLong() async throws {
        let door = ScriptedDoor([
            .send(String(repeating: "x", count: RequestLimits.serverLineBytes + 1))
        ])
        try await ScriptedDaemon.with(events: door) { daemon in
            let connection = try await daemon.client.connect(to: .events)
            let path = daemon.directory.socketPath(of: .events)
            let error = ClientError.lineTooLong(path: path, limit: RequestLimits.serverLineBytes)
            await #expect(throws: error) { try await self.texts(connection) }
            #expect(error.description.contains("a line longer than 16 MiB"))
        }
    }

    @Test func aPathThatIsTooLongIsSaidToBeSo() async {
        let directory = RuntimeDirectory("/tmp/" + String(repeating: "x", count: 100))
        await #expect(throws: ClientError.pathTooLong(directory.socketPath(of: .control))) {
            try await Client(directory).connect(to: .control)
        }
    }

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

    private func lines(_ chunks: [String]) throws -> [String] {
        var framer = LineFramer()
        return try chunks.flatMap { try framer.append(Array($0.utf8)) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func aLineMayComeInAnyNumberOfPieces() throws {
        let lines = try self.lines(["{\"a\"", ":1", "}", "\n{}\n{", "}\n"])
        #expect(lines == ["{\"a\":1}", "{}", "{}"])
    }

    @Test func everyCutOfTheStreamGivesTheSameLines() throws {
        let whole = ["{\"type\":\"state\"}", "", "{\"cause\":\"å\"}"].map { Array($0.utf8) }
        let bytes = whole.flatMap { $0 + [UInt8(ascii: "\n")] }
        for cut in bytes.indices {
            var framer = LineFramer()
            let lines = try framer.append(bytes[..<cut]) + framer.append(bytes[cut...])
            #expect(lines == whole)
        }
    }

    @Test func aLineOfTheGreatestLengthPasses() throws {
        let longest = String(repeating: "x", count: RequestLimits.serverLineBytes)
        #expect(try self.lines([longest, "\n"]) == [longest])
    }
}

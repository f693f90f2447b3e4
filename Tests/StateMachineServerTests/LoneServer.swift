import Glibc
import NIOCore
import NIOPosix
import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// A server of doors, on a loop of its own, with one client at its control door.
struct LoneServer {
    let machine: StateMachine<DoorState>
    let group: MultiThreadedEventLoopGroup
    private let server: NIOLoopBound<StateServer>
    private let loop: any EventLoop
    private let client: CInt
    private let channel: any Channel

    /// Calls `body`, and ends it all.
    static func run(
        of machine: StateMachine<DoorState> = StateMachine(),
        _ body: (LoneServer) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let lone = try await LoneServer(of: machine, on: group)
        defer { close(lone.client) }
        try await body(lone)
        try await lone.channel.close()
        try await lone.onLoop { $0.stop() }
        try await group.shutdownGracefully()
    }

    private init(
        of machine: StateMachine<DoorState>,
        on group: MultiThreadedEventLoopGroup
    ) async throws {
        self.machine = machine
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        self.client = ends[1]
        self.group = group
        let loop = group.next()
        let bell = try await LoopBell.make(on: group)
        let server = try await loop.submit {
            NIOLoopBound(
                StateServer(
                    machine: machine.machine,
                    schema: StateCoding<DoorState>().schema,
                    loop: loop,
                    limits: ServerLimits(),
                    bell: bell.value
                ),
                eventLoop: loop
            )
        }.get()
        (self.loop, self.server) = (loop, server)
        self.channel = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.addConnection(at: .control, of: server.value)
                }
            }
            .withConnectedSocket(ends[0]).get()
    }

    /// Calls `body` on the server's loop.
    func onLoop<Wanted: Sendable>(
        _ body: @escaping @Sendable (StateServer) throws -> Wanted
    ) async throws -> Wanted {
        try await self.loop.submit { try body(self.server.value) }.get()
    }

    /// Sends lines as the client does.
    func send(_ lines: String...) {
        self.send(raw: lines.map { $0 + "\n" }.joined())
    }

    /// Sends a text as it is.
    func send(raw text: String) {
        #expect(Glibc.send(self.client, text, text.utf8.count, 0) == text.utf8.count)
    }

    /// The next line that the client reads.
    func line() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while recv(self.client, &byte, 1, 0) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

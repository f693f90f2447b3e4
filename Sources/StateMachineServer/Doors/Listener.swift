import Glibc
import NIOCore
import NIOPosix
import StateMachineCore
import StateMachineProtocol

/// Accepts the clients of one door.
struct Listener: Sendable {
    private let channel: any Channel
    private let socket: DoorSocket

    /// Listens; when this returns, clients can connect.
    init(
        _ door: Door,
        socket: DoorSocket,
        server: StateServer,
        group: any EventLoopGroup
    ) async throws {
        self.socket = socket
        self.channel = try await ServerBootstrap(group: group)
            // To see after each whether there is room for one more.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(turns: server.turns))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.recvAllocator, value: Connection.allocator)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.addConnection(at: door, of: server)
                }
            }
            .withBoundSocket(socket.descriptor)
            .get()
        // NIO listens with 128 before it looks at its options, which lowers the manager's backlog.
        guard listen(socket.descriptor, socket.backlog) == 0 else {
            throw DaemonError(cannot: "listen at \(socket.path)", errno: errno)
        }
    }

    /// Stops accepting, and removes the socket.
    func close() async throws {
        self.socket.remove()
        try await self.channel.close()
    }
}

extension Channel {
    /// Starts serving a client, from the beginning or from where the last process stopped.
    func addConnection(
        at door: Door,
        of server: StateServer,
        inheriting inheritance: ConnectionInheritance? = nil
    ) throws {
        let pipeline = self.pipeline.syncOperations
        let descriptor = try pipeline.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { $0 }
        guard let descriptor else { throw ChannelError.operationUnsupported }
        let connection = Connection(
            server: server,
            door: door,
            peer: try Peer(credentialsOf: descriptor, knownAs: inheritance?.record.program),
            channel: self,
            descriptor: descriptor,
            inheriting: inheritance
        )
        try pipeline.addHandler(connection)
    }
}

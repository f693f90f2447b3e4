import Glibc
import Logging
import NIOCore
import NIOPosix
import Systemd

/// What the last process left with the service manager, as far as anything can be made of it.
struct TakenConnections: Sendable {
    private let handOver: HandOverRecord?
    private let connections: [(descriptor: CInt, record: HandOverRecord.Connection)]

    /// The names under which all that was handed over lies in the manager's store.
    ///
    /// It is taken out of there before anything is done with it: what the store has too does not end
    /// for the client when it ends here, and is not to be gone on with a second time.
    let names: [String]

    /// Sorts what came out of the store; what is of no use is closed, and that is logged.
    init(_ handed: HandedSockets, logger: Logger) {
        let handOver = Self.read(handed.records, logger)
        var records: [UInt64: HandOverRecord.Connection] = [:]
        for record in handOver?.connections ?? [] { records[record.socket] = record }
        var connections: [(descriptor: CInt, record: HandOverRecord.Connection)] = []
        for descriptor in handed.connections {
            var status = stat()
            if fstat(descriptor, &status) == 0, DescriptorKind(of: descriptor) == .connected,
                let record = records.removeValue(forKey: UInt64(status.st_ino))
            {
                connections.append((descriptor, record))
            } else {
                close(descriptor)
            }
        }
        for item in handed.garbage { close(item.descriptor) }
        let dropped = handed.connections.count - connections.count
        if dropped > 0 || !handed.garbage.isEmpty {
            logger.warning(
                "the store holds what is of no use, dropping it and going on",
                metadata: [
                    "connections": "\(dropped)",
                    "others": "\(handed.garbage.map { "\($0.name): \($0.kind)" })",
                ]
            )
        }
        self.handOver = handOver
        self.connections = connections
        let hasStore = !handed.connections.isEmpty || !handed.records.isEmpty
        let own = hasStore ? [HandedSockets.connectionName, HandedSockets.recordName] : []
        self.names = own + Set(handed.garbage.map(\.name)).sorted()
    }

    /// Reads the one record there should be, and closes all.
    private static func read(_ records: [CInt], _ logger: Logger) -> HandOverRecord? {
        defer { for descriptor in records { close(descriptor) } }
        guard let descriptor = records.first else { return nil }
        do {
            return try HandOverRecord(decoding: SealedMemory.read(descriptor))
        } catch {
            logger.warning(
                "what the last process left cannot be read, its clients have to connect again",
                metadata: ["error": "\(error)"]
            )
            return nil
        }
    }

    var count: Int { self.connections.count }

    /// Goes on with the connections; those that cannot be used are closed.
    func goOn(at server: StateServer, on group: any EventLoopGroup) async throws {
        guard let handOver else { return }
        try await server.loop.submit { server.skipNumbers(through: handOver.lastNumber) }.get()
        for (descriptor, record) in self.connections {
            let bootstrap = ClientBootstrap(group: group)
                .channelOption(.allowRemoteHalfClosure, value: true)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.addConnection(
                            at: record.door,
                            of: server,
                            inheriting: (record, handOver)
                        )
                    }
                }
            do {
                _ = try await bootstrap.withConnectedSocket(descriptor).get()
            } catch {
                // One client's trouble, who has gone meanwhile; the channel has closed the socket.
                continue
            }
        }
    }
}

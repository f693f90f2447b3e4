import Glibc
import Logging
import NIOCore
import NIOPosix
import StateMachineCore
import StateMachineProtocol
import Systemd

/// What the last process recorded of a connection, and that process's whole record.
///
/// An object, since most connections have none.
final class ConnectionInheritance: Sendable {
    let record: HandOverRecord.Connection
    let handOver: HandOverRecord

    init(_ record: HandOverRecord.Connection, of handOver: HandOverRecord) {
        self.record = record
        self.handOver = handOver
    }
}

/// What the last process left with the service manager, as far as it is usable.
struct InheritedConnections: Sendable {
    private let connections: [(descriptor: CInt, inheritance: ConnectionInheritance)]

    /// No number up to this is given out again.
    let lastNumber: UInt64

    /// The required guards, if no history kept them.
    let kept: [KeptVoter]

    /// The session by which the last process held something of a machine that hosts share, and all that is still held; nil: there is none.
    let session: SharedSession?

    /// The names in the manager's store of everything that was handed over.
    ///
    /// It is removed from the store before anything is done with it: a connection that the store
    /// still holds does not end for the client when it ends here, and must not be resumed a second
    /// time.
    let names: [String]

    /// Sorts what came out of the store; what is useless is closed, and that is logged.
    init(_ handed: HandedSockets, logger: Logger) {
        let handOvers = Self.read(handed.records, logger)
        var known: [UInt64: ConnectionInheritance] = [:]
        for handOver in handOvers {
            for record in handOver.connections {
                known[record.socket] = ConnectionInheritance(record, of: handOver)
            }
        }
        var connections: [(descriptor: CInt, inheritance: ConnectionInheritance)] = []
        for descriptor in handed.connections {
            var status = stat()
            if fstat(descriptor, &status) == 0, DescriptorKind(of: descriptor) == .connected,
                let inheritance = known.removeValue(forKey: UInt64(status.st_ino))
            {
                connections.append((descriptor, inheritance))
            } else {
                close(descriptor)
            }
        }
        let dropped = handed.connections.count - connections.count
        if dropped > 0 || !handed.garbage.isEmpty {
            logger.warning(
                "the descriptor store holds unknown descriptors, dropping them",
                metadata: [
                    "connections": "\(dropped)",
                    "others": "\(handed.garbage.map { "\($0.name): \($0.kind)" })",
                ]
            )
        }
        // Not before the log has said what they are.
        for item in handed.garbage { close(item.descriptor) }
        self.connections = connections
        self.kept = handOvers.last?.kept ?? []
        self.lastNumber = handOvers.map(\.lastNumber).max() ?? 0
        let rows = connections.flatMap(\.inheritance.record.standing)
        let voters = rows.compactMap { row in
            if case .voter(let voter) = row { voter.number } else { nil }
        }
        self.session = handOvers.last?.session.flatMap {
            SharedSession($0, holding: Set(voters))
        }
        let hasStore = !handed.connections.isEmpty || !handed.records.isEmpty
        let own = hasStore ? [HandedSockets.connectionName, HandedSockets.recordName] : []
        self.names = own + Set(handed.garbage.map(\.name)).sorted()
    }

    /// Reads the records, and closes them all.
    ///
    /// There should be one. A second was left by a process whose successor could not take it out of
    /// the store; and anything may lie there under that name, in any order.
    ///
    /// - Returns: the readable ones, oldest first: the newest is right about a connection that
    ///   several name.
    private static func read(_ records: [CInt], _ logger: Logger) -> [HandOverRecord] {
        var found: [(made: Duration, handOver: HandOverRecord)] = []
        for descriptor in records {
            defer { close(descriptor) }
            do {
                let handOver = try HandOverRecord(decoding: SealedMemory.read(descriptor))
                found.append((try SealedMemory.made(descriptor), handOver))
            } catch {
                logger.warning(
                    "the record of connections from the last process cannot be read, their clients have to reconnect",
                    metadata: ["error": "\(error)"]
                )
            }
        }
        return found.sorted { $0.made < $1.made }.map(\.handOver)
    }

    var count: Int { self.connections.count }

    /// Whether all can go on at that server in the numbering of the last process, since it has come to where that was.
    func canContinue(at server: StateServer) -> Bool {
        self.connections.allSatisfy { server.isContinuing($0.inheritance.handOver) }
    }

    /// Resumes the connections; closes those that cannot be used.
    func resume(at server: StateServer, on group: any EventLoopGroup) async throws {
        try await server.loop.submit {
            server.arrivals.begin()
        }.get()
        for (descriptor, inheritance) in self.connections {
            let bootstrap = ClientBootstrap(group: group)
                .channelOption(.allowRemoteHalfClosure, value: true)
                .channelOption(.recvAllocator, value: Connection.allocator)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.addConnection(
                            at: inheritance.record.door,
                            of: server,
                            inheriting: inheritance
                        )
                    }
                }
            do {
                _ = try await bootstrap.withConnectedSocket(descriptor).get()
            } catch {
                // That client has gone meanwhile; the channel has closed the socket.
                continue
            }
        }
        try await server.loop.submit { server.arrivals.end() }.get()
    }
}

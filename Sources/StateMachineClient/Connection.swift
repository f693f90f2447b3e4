import Glibc
public import NIOCore
import NIOPosix
package import StateMachineCore
public import StateMachineProtocol

/// A connection to one door: requests go out, lines come in.
///
/// It is closed by ``close()``, by the daemon, and when the iteration over ``lines`` ends early.
public struct Connection: Sendable {
    /// The socket's path.
    public let path: String
    /// What the daemon sends, to be iterated over once, by one task.
    public let lines: Lines
    private let channel: any Channel
    /// The channel's descriptor, for as long as the channel is active.
    private let socket: CInt

    /// Connects to the socket at `path`.
    ///
    /// - Parameters:
    ///   - path: at most 107 bytes.
    ///   - group: where the connection's event loop comes from.
    /// - Returns: the connection, once it is established.
    /// - Throws: ``ClientError/unreachable(path:reason:)``, ``ClientError/notPermitted(path:)`` or
    ///   ``ClientError/pathTooLong(_:)``.
    public static func open(
        _ path: String,
        on group: any EventLoopGroup
    ) async throws(ClientError) -> Connection {
        let loop = group.next()
        do {
            let socket = try await loop.submit { try self.socket(connectedTo: path) }.get()
            let (channel, lines) = try await ClientBootstrap(group: loop)
                .channelOption(.autoRead, value: false)
                .withConnectedSocket(socket) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        (channel, try LineReader.add(to: channel, path: path))
                    }
                }
            return Connection(
                path: path,
                lines: Lines(path: path, lines),
                channel: channel,
                socket: socket
            )
        } catch let error as ClientError {
            throw error
        } catch {
            throw .unreachable(path: path, reason: "\(error)")
        }
    }

    /// A socket that is connected, which at a Unix socket takes no time; paths that are as long as
    /// the kernel allows are longer than NIO's own `connect` takes.
    private static func socket(connectedTo path: String) throws(ClientError) -> CInt {
        let socket = SocketPath.makeSocket()
        guard socket >= 0 else { throw ClientError(connecting: path, errnoCode: errno) }
        guard SocketPath.connect(socket, to: path) == 0 else {
            let code = errno
            Glibc.close(socket)
            throw ClientError(connecting: path, errnoCode: code)
        }
        return socket
    }

    /// Sends a request; returns once the kernel has it.
    ///
    /// - Throws: ``ClientError/lost(path:)`` if the connection is closed. The lines that came before
    ///   it was can still be read.
    public func send(_ request: Request) async throws(ClientError) {
        do {
            try await self.channel.writeAndFlush(ByteBuffer(bytes: request.line))
        } catch {
            throw .lost(path: self.path)
        }
    }

    /// Closes the connection; nothing happens if it is closed already.
    public func close() async {
        do {
            try await self.channel.close()
        } catch {
            // Closed before, by the daemon or by us.
        }
    }

    /// Another descriptor of its socket, which the caller closes; nil if the connection is closed already.
    ///
    /// The daemon sees the connection's end when all of them are closed.
    package func duplicate() async -> CInt? {
        do {
            return try await self.channel.eventLoop.submit {
                guard self.channel.isActive else { return nil }
                let descriptor = fcntl(self.socket, F_DUPFD_CLOEXEC, 0)
                return descriptor < 0 ? nil : descriptor
            }.get()
        } catch {
            // The loop has ended, and all its connections with it.
            return nil
        }
    }

    /// Who listens at its other end, as the kernel noted then; nil if the connection is closed already.
    package func listener() async -> Peer? {
        do {
            return try await self.channel.eventLoop.submit {
                // `struct ucred` of unix(7), which Swift's Glibc leaves out.
                var credentials: (pid: Int32, uid: UInt32, gid: UInt32) = (0, 0, 0)
                var length = socklen_t(MemoryLayout.size(ofValue: credentials))
                guard self.channel.isActive,
                    getsockopt(self.socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0
                else { return nil }
                return Peer(uid: credentials.uid, pid: credentials.pid)
            }.get()
        } catch {
            // The loop has ended, and all its connections with it.
            return nil
        }
    }

    /// Ends the connection with ``ClientError/silent(path:_:)`` for its reader, unless the returned
    /// task is cancelled in time.
    package func expectAnswer(within limit: Duration) -> Scheduled<Void> {
        self.channel.eventLoop.scheduleTask(in: TimeAmount(limit)) {
            self.channel.pipeline.fireErrorCaught(ClientError.silent(path: self.path, limit))
        }
    }

    /// Ends the connection with that error for its reader.
    func end(_ error: ClientError) { self.channel.pipeline.fireErrorCaught(error) }
}

extension Connection {
    /// A connection's lines, in order; a last line without its newline is not among them.
    public struct Lines: AsyncSequence, Sendable {
        private let path: String
        private let base: LineReader.Producer

        init(path: String, _ base: LineReader.Producer) {
            self.path = path
            self.base = base
        }

        /// The iterator; there may be only one.
        public func makeAsyncIterator() -> Iterator {
            Iterator(path: self.path, base: self.base.makeAsyncIterator())
        }

        /// Gives one line after the other, until the connection ends.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let path: String
            fileprivate let base: LineReader.Producer.AsyncIterator

            /// The next line; nil at the connection's end.
            ///
            /// - Throws: ``ClientError``, or `CancellationError` if the task is cancelled.
            public func next() async throws -> Line? {
                guard let bytes = try await self.base.next() else { return nil }
                guard let line = Line(bytes) else {
                    let start = String(decoding: bytes.prefix(80), as: UTF8.self)
                    throw ClientError.malformed(
                        path: self.path,
                        "it sent \(JSONValue.string(start))"
                    )
                }
                return line
            }
        }
    }
}

#if Web
import Glibc
import HTTPTypes
import HummingbirdCore
package import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import StateMachineProtocol

/// Serves the page until the task is cancelled.
package struct WebServer: Sendable {
    /// How long a connection may take to send a request, or stay without one.
    ///
    /// 10 s: a request is one packet; browsers connect anew when they need to.
    private static let idle = TimeAmount.seconds(10)
    /// The most bytes of a request's header fields, and the most fields.
    ///
    /// 16 KiB and 64: twice what browsers send, without cookies of other services on this host.
    private static let fields = (bytes: 16 << 10, count: 64)
    /// The most connections that wait in the system's queue.
    private static let backlog: CInt = 256

    private let socket: ListenSocket
    private let responder: Responder
    private let machines: Machines
    private let log: Logger

    package init(_ socket: ListenSocket, _ machines: Machines, rule: HostRule, log: Logger) {
        self.socket = socket
        self.machines = machines
        self.responder = Responder(answers: Answers(machines: machines, page: Page()), rule: rule)
        self.log = log
    }

    /// Serves; calls `ready` with the address once it listens.
    ///
    /// When the task is cancelled no more connections are accepted, and streams are ended so that
    /// browsers reconnect.
    ///
    /// - Throws: ``WebError`` if it cannot get the socket.
    package func run(_ ready: @escaping @Sendable (String) -> Void) async throws {
        let (responder, visitors) = (self.responder, Visitors())
        let http = HTTP1Channel(
            responder: { request, writer, channel in
                visitors.asked(channel)
                defer { visitors.answered(channel) }
                let response = try await responder.response(to: request) {
                    visitors.follow(channel)
                }
                // A refused one is closed when it has its answer.
                if response.headers[.connection] == "close" {
                    channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
                }
                try await writer.write(response: response.head, body: response.body)
            },
            configuration: .init(
                idleTimeout: Self.idle,
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: Self.fields.bytes,
                    maxHeaderListSize: Self.fields.bytes,
                    maxHeaderFieldCount: Self.fields.count
                )
            )
        )
        let log = self.log
        let server = try await self.listen { channel in
            visitors.arrived(channel)
            return http.setup(channel: channel, logger: log)
                .flatMapThrowing { value in
                    let pipeline = channel.pipeline.syncOperations
                    let decoder = try pipeline.handler(
                        type: ByteToMessageHandler<HTTPRequestDecoder>.self
                    )
                    try pipeline.addHandler(VersionHandler(), position: .after(decoder))
                    // NIO ends the process if it is released open, and who comes while the server ends is nobody's.
                    channel.closeFuture.whenComplete { _ in withExtendedLifetime(value) {} }
                    return value
                }
        }
        let own = self.socketFile
        defer { self.remove(own) }
        ready(Self.text(server.channel.localAddress))
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                do {
                    try await server.executeThenClose { inbound in
                        for try await child in inbound {
                            group.addTask { await http.handle(value: child, logger: log) }
                        }
                    }
                } catch is CancellationError {
                    log.debug("no longer accepting connections")
                } catch {
                    log.error(
                        "connections can no longer be accepted",
                        metadata: ["error": "\(error)"]
                    )
                }
                self.machines.finish()
            }
        } onCancel: {
            self.machines.finish()
            server.channel.close(promise: nil)
        }
    }

    private func listen(
        _ setUp: @escaping @Sendable (any Channel) -> EventLoopFuture<HTTP1Channel.Value>
    ) async throws -> NIOAsyncChannel<HTTP1Channel.Value, Never> {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
        do {
            switch self.socket {
            case .handed(let descriptor):
                return try await bootstrap.bind(descriptor, childChannelInitializer: setUp)
            case .address(.internet(let host, let port)):
                return try await bootstrap.bind(
                    host: host,
                    port: port,
                    childChannelInitializer: setUp
                )
            case .address(.unix(let path)):
                // Not by NIO, which removes whatever has the path by then when the socket is closed.
                let descriptor = try self.socket(at: path)
                // A proxy is another user; the directory decides who may connect.
                chmod(path, 0o666)
                return try await bootstrap.bind(descriptor, childChannelInitializer: setUp)
            }
        } catch let error as IOError {
            throw self.error(error)
        }
    }

    /// A socket of our own, in the place of one on which nobody answers.
    private func socket(at path: String) throws -> CInt {
        guard path.utf8.count <= SocketPath.limit else {
            throw self.error(
                "a socket's path may have at most \(SocketPath.limit) bytes; give another --listen"
            )
        }
        var status = stat()
        if lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK else {
                throw self.error("the path exists and is not a socket; give another --listen")
            }
            let probe = SocketPath.makeSocket()
            defer { close(probe) }
            if SocketPath.connect(probe, to: path) == 0 || errno == EAGAIN {
                throw IOError(errnoCode: EADDRINUSE, reason: "bind")
            }
            guard errno == ECONNREFUSED, unlink(path) == 0 else {
                throw IOError(errnoCode: errno, reason: "bind")
            }
        }
        let descriptor = SocketPath.makeSocket()
        guard descriptor >= 0, SocketPath.bind(descriptor, to: path) == 0 else {
            let code = errno
            close(descriptor)
            throw IOError(errnoCode: code, reason: "bind")
        }
        return descriptor
    }

    private func error(_ error: IOError) -> WebError {
        guard case .address = self.socket else {
            return WebError("the socket that was handed over cannot be used: \(error)")
        }
        let advice =
            switch error.errnoCode {
            case EADDRINUSE: "something listens there already; give another --listen"
            case EACCES, EPERM: "this user may not listen there; give another --listen"
            case ENOENT: "its directory does not exist; create it, or give another --listen"
            case EADDRNOTAVAIL: "this machine has no such address; give one that it has"
            default: "error \(error.errnoCode); give another --listen"
            }
        return self.error(advice)
    }

    private func error(_ advice: String) -> WebError {
        guard case .address(let address) = self.socket else { return WebError(advice) }
        return WebError("cannot listen on \(address): \(advice)")
    }

    /// The socket's file; nil if there is none of ours.
    private var socketFile: FileID? {
        guard case .address(.unix(let path)) = self.socket else { return nil }
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return FileID(device: status.st_dev, inode: status.st_ino)
    }

    /// Removes the socket, unless another has been put in its place.
    private func remove(_ file: FileID?) {
        guard let file, file == self.socketFile, case .address(.unix(let path)) = self.socket else {
            return
        }
        unlink(path)
    }

    private static func text(_ address: SocketAddress?) -> String {
        switch address {
        case .v4?, .v6?:
            let host = address?.ipAddress ?? "?"
            let name = host.contains(":") ? "[\(host)]" : host
            return "http://\(name):\(address?.port ?? 0)/"
        case .unixDomainSocket?: return "unix:\(address?.pathname ?? "?")"
        case nil: return "?"
        }
    }
}

/// Identifies a file, as another may take its name.
private struct FileID: Equatable {
    let device: dev_t
    let inode: ino_t
}
#endif

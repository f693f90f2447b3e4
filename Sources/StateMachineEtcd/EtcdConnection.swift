#if Cluster
import Glibc
package import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import StateMachineCore

/// One HTTP/2 connection to a member of the engine, on which calls and watches are made.
///
/// Its methods may be called from anywhere; what they tell, they tell on the event loop.
package final class EtcdConnection: Sendable {
    package let endpoint: EtcdEndpoint
    /// Says why when the connection has ended, or when the engine wants no more calls on it.
    package let ended: EventLoopFuture<ConnectionTrouble>
    private let loop: any EventLoop
    private let life: NIOLoopBound<ConnectionLife>

    private init(_ endpoint: EtcdEndpoint, _ life: ConnectionLife, on loop: any EventLoop) {
        (self.endpoint, self.loop) = (endpoint, loop)
        self.ended = life.ended.futureResult
        self.life = NIOLoopBound(life, eventLoop: loop)
    }

    /// Connects; the engine has spoken HTTP/2 when it is there, and so has taken our certificate.
    ///
    /// That may take as long as `limit`; credentials are needed where the endpoint is encrypted.
    ///
    /// - Returns: the connection; it fails with ``ConnectionTrouble``.
    package static func open(
        _ endpoint: EtcdEndpoint,
        _ credentials: EtcdCredentials?,
        on loop: any EventLoop,
        within limit: Duration
    ) -> EventLoopFuture<EtcdConnection> {
        ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(limit))
            // A call is written at once, and waits for an answer.
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try ConnectionLife.add(to: channel, endpoint, credentials, within: limit)
                }
            }
            .connect(host: endpoint.host, port: endpoint.port)
            .flatMapErrorThrowing { error in
                throw error as? ConnectionTrouble ?? ConnectionTrouble(connecting: endpoint, error)
            }
            .flatMap { channel in
                do {
                    let life = try channel.pipeline.syncOperations.handler(
                        type: ConnectionLife.self
                    )
                    let connection = EtcdConnection(endpoint, life, on: loop)
                    return life.opened.futureResult.map { connection }
                } catch {
                    // It has ended already, and its pipeline with it.
                    return loop.makeFailedFuture(
                        ConnectionTrouble("\(endpoint) has closed the connection")
                    )
                }
            }
    }

    /// Makes a call, and says once what has become of it.
    package func call<Request: EtcdRequest>(
        _ request: Request,
        within limit: Duration,
        done: @escaping @Sendable (Outcome<Request.Answer>) -> Void
    ) {
        self.onLoop { $0.call(request, within: limit, done: done) }
    }

    /// Begins a watch, and tells what comes of it; the last is that it has ended.
    package func watch(
        _ watch: EngineWatch,
        tell: @escaping @Sendable (EngineWatch.News) -> Void
    ) -> RunningWatch {
        let running = RunningWatch(on: self.loop)
        self.onLoop { $0.watch(watch, on: running.stream.value, tell: tell) }
        return running
    }

    /// What is wrong with it, as far as is known; asked on its event loop.
    var trouble: ConnectionTrouble? { self.life.value.trouble }

    /// Ends it as soon as no call is under way; there are no others.
    package func leave() {
        self.onLoop { $0.leave("this side makes no more calls on this connection") }
    }

    /// Ends it; calls under way come to an unknown end.
    package func close() { self.onLoop { $0.close("this side has closed it") } }

    private func onLoop(_ body: @escaping @Sendable (ConnectionLife) -> Void) {
        if self.loop.inEventLoop {
            body(self.life.value)
        } else {
            self.loop.execute { body(self.life.value) }
        }
    }
}

/// A watch on a connection; it goes on when this is released.
package final class RunningWatch: Sendable {
    fileprivate let stream: NIOLoopBoundBox<EtcdStream>
    private let loop: any EventLoop

    fileprivate init(on loop: any EventLoop) {
        self.stream = .makeBoxSendingValue(EtcdStream(), eventLoop: loop)
        self.loop = loop
    }

    /// Ends it; nothing more is told, but for what the event loop is telling already.
    package func stop() { self.loop.execute { self.stream.value.stop() } }
}
#endif

#if Cluster
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
package import StateMachineProtocol

/// The life of a connection to the engine, with the streams on it.
///
/// Belongs to its event loop, and stands at the end of the connection's pipeline.
final class ConnectionLife: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    /// How much of an answer may be under way.
    ///
    /// 1 MiB: the most that one group of changes has, so it comes without a word between.
    private static let window = 1 << 20

    private enum State {
        /// Until the engine's settings have come.
        case opening(Scheduled<Void>)
        case open
        /// It ends with the calls that are under way; no others are made.
        case leaving
        case ended
    }

    /// It is open; or it is not, and why.
    let opened: EventLoopPromise<Void>
    let ended: EventLoopPromise<ConnectionTrouble>
    private let endpoint: EtcdEndpoint
    private let credentials: EtcdCredentials?
    private let channel: any Channel
    private let multiplexer: NIOHTTP2Handler.StreamMultiplexer
    private var state = State.ended
    /// What went wrong first.
    private(set) var trouble: ConnectionTrouble?
    /// Calls under way.
    private var calls = 0

    private init(
        _ channel: any Channel,
        _ multiplexer: NIOHTTP2Handler.StreamMultiplexer,
        _ endpoint: EtcdEndpoint,
        _ credentials: EtcdCredentials?
    ) {
        (self.channel, self.multiplexer) = (channel, multiplexer)
        (self.endpoint, self.credentials) = (endpoint, credentials)
        self.opened = channel.eventLoop.makePromise()
        self.ended = channel.eventLoop.makePromise()
    }

    /// Makes the pipeline of a new connection; it has to be open within the limit.
    static func add(
        to channel: any Channel,
        _ endpoint: EtcdEndpoint,
        _ credentials: EtcdCredentials?,
        within limit: Duration
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        if endpoint.isEncrypted {
            guard let credentials else {
                throw ConnectionTrouble(
                    "\(endpoint) is encrypted; set engine-ca to the authority of its certificate"
                )
            }
            try pipeline.addHandler(
                NIOSSLClientHandler(context: credentials.context, serverHostname: endpoint.name)
            )
        }
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .enablePush, value: 0),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 1 << 14),
            HTTP2Setting(parameter: .initialWindowSize, value: Self.window),
        ]
        connection.targetWindowSize = Self.window
        // etcd sends a PING for nearly each answer, to learn how much the way takes. The limit, 200 in 30 s, is there to keep strangers from
        // flooding a server, and would end our own connection after as many calls.
        connection.controlFrameRateLimit.maximumCount = .max
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.targetWindowSize = Self.window
        let multiplexer = try pipeline.configureHTTP2Pipeline(
            mode: .client,
            connectionConfiguration: connection,
            streamConfiguration: stream,
            inboundStreamInitializer: { $0.close() }
        )
        let life = ConnectionLife(channel, multiplexer, endpoint, credentials)
        try pipeline.addHandler(life)
        life.begin(within: limit)
    }

    private func begin(within limit: Duration) {
        self.state = .opening(
            self.channel.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) {
                self.close(
                    "\(self.endpoint) takes connections and has not answered for \(limit); is its process stopped, or is it no etcd?"
                )
            }
        )
    }

    // MARK: What happens to the connection

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        switch frame.payload {
        case .settings(.settings):
            guard case .opening(let deadline) = self.state else { return }
            deadline.cancel()
            self.state = .open
            self.opened.succeed()
        case .goAway(_, let code, let data):
            let text = data.map { " \(String(buffer: $0).excerpt)" } ?? ""
            self.leave("\(self.endpoint) wants no more calls on this connection (\(code)\(text))")
        default: break
        }
    }

    /// Makes no more calls, and ends it when the last of them has come to its end.
    func leave(_ why: ConnectionTrouble) {
        switch self.state {
        case .opening: return self.close(why)
        case .leaving, .ended: return
        case .open: break
        }
        self.state = .leaving
        self.trouble = self.trouble ?? why
        self.ended.succeed(why)
        self.closeIfIdle()
    }

    private func closeIfIdle() {
        if case .leaving = self.state, self.calls == 0 { self.channel.close(promise: nil) }
    }

    /// Ends it, for that reason unless there was one before.
    func close(_ why: ConnectionTrouble) {
        self.trouble = self.trouble ?? why
        self.channel.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // That of one stream, which has been told.
        guard !(error is NIOHTTP2Errors.StreamError), !(error is NIOHTTP2Errors.StreamClosed) else {
            return
        }
        // It hangs up, of which the end says enough.
        if case .opening = self.state, error is IOError { return }
        let shown = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            .peerCertificate
        self.close(
            self.credentials?.trouble(error, with: self.endpoint, shown: shown)
                ?? "the connection to \(self.endpoint) has failed: \(ConnectionTrouble.cause(error))"
        )
    }

    func channelInactive(context: ChannelHandlerContext) { self.end() }

    func handlerRemoved(context: ChannelHandlerContext) { self.end() }

    private func end() {
        if case .opening(let deadline) = self.state {
            deadline.cancel()
            self.trouble =
                self.trouble
                ?? "\(self.endpoint) hangs up at once; is it etcd\(self.endpoint.isEncrypted ? "" : ", and not https://")?"
        }
        self.state = .ended
        let trouble = self.trouble ?? "\(self.endpoint) has closed the connection"
        self.opened.fail(trouble)
        self.ended.succeed(trouble)
    }

    private var why: String {
        self.trouble?.description ?? "\(self.endpoint) has closed the connection"
    }

    // MARK: Streams

    func call<Request: EtcdRequest>(
        _ request: Request,
        within limit: Duration,
        done: @escaping (Outcome<Request.Answer>) -> Void
    ) {
        guard case .open = self.state else { return done(.refused(.notSent(self.why))) }
        self.calls += 1
        var call = EtcdCall<Request.Answer>()
        let stream = EtcdStream()
        var deadline: Scheduled<Void>?
        let happened = { (event: EtcdCall<Request.Answer>.Event) in
            guard let outcome = call.thisHappened(event) else { return }
            deadline?.cancel()
            stream.stop()
            self.calls -= 1
            done(outcome)
            self.closeIfIdle()
        }
        deadline = self.channel.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) {
            happened(.deadline(limit))
        }
        self.begin(stream, request, isWhole: true) { happened(.came($0)) }
    }

    func watch(
        _ watch: EngineWatch,
        on stream: EtcdStream,
        tell: @escaping (EngineWatch.News) -> Void
    ) {
        guard case .open = self.state else { return tell(.ended(.lost(self.why))) }
        var watch = watch
        self.begin(stream, watch.request, isWhole: false) { meaning in
            let event: EngineWatch.Event
            switch meaning {
            case .message(let bytes):
                do throws(Malformed) {
                    event = .came(try WatchRequest.Answer(bytes[...]))
                } catch {
                    event = .malformed(error)
                }
            case .ended(let end): event = .ended(end)
            }
            guard let news = watch.thisHappened(event) else { return }
            if case .ended = news { stream.stop() }
            tell(news)
        }
    }

    /// Sends the request on a stream of its own, and tells what comes there; if it is whole, nothing
    /// follows it from this side.
    private func begin<Request: EtcdRequest>(
        _ stream: EtcdStream,
        _ request: Request,
        isWhole: Bool,
        tell: @escaping (GRPCAnswer.Meaning) -> Void
    ) {
        let headers: HPACKHeaders = [
            ":method": "POST",
            ":scheme": self.endpoint.isEncrypted ? "https" : "http",
            ":path": Request.path,
            ":authority": "\(self.endpoint.host):\(self.endpoint.port)",
            "te": "trailers",
            "content-type": "application/grpc",
            // A member without a leader refuses at once, instead of trying until the deadline; and it ends watches.
            "hasleader": "true",
        ]
        stream.begin(
            headers,
            GRPCFrames.frame(request.bytes),
            isWhole: isWhole,
            why: { self.why },
            tell: tell
        )
        let bound = NIOLoopBound(stream, eventLoop: self.channel.eventLoop)
        let created = self.channel.eventLoop.makePromise(of: (any Channel).self)
        self.multiplexer.createStreamChannel(promise: created) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(bound.value)
            }
        }
        created.futureResult.assumeIsolated().whenFailure { _ in stream.wasNotMade() }
    }
}

/// Why there is no connection to the engine: a sentence that says what to do.
package struct ConnectionTrouble: Error, Hashable, CustomStringConvertible {
    package let description: String
    /// What of it clients are told; nil: that nobody answers.
    package let reason: SharingTrouble?

    package init(_ description: String, _ reason: SharingTrouble? = nil) {
        (self.description, self.reason) = (description, reason)
    }

    /// What a failed attempt to connect means.
    init(connecting endpoint: EtcdEndpoint, _ error: any Error) {
        switch error {
        case let error as NIOConnectionError
        where error.dnsAError != nil && error.connectionErrors.isEmpty:
            self.init(
                "there is no host \(endpoint.host); correct engine-endpoints, or the name service"
            )
        case let error as NIOConnectionError:
            let cause = error.connectionErrors.first.map { Self.cause($0.error) } ?? "no address"
            self.init("nobody answers at \(endpoint) (\(cause)); is etcd running there?")
        case ChannelError.connectTimeout(let limit):
            self.init(
                "\(endpoint) has not answered for \(limit.nanoseconds / 1_000_000) ms; is that host up, and its port open?"
            )
        default: self.init("there is no connection to \(endpoint): \(Self.cause(error))")
        }
    }

    /// What an error says to who does not know the libraries.
    fileprivate static func cause(_ error: any Error) -> String {
        switch error {
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case is NIOHTTP2Errors.UnableToParseFrame, is NIOHTTP2Errors.BadClientMagic:
            "what answers there does not speak HTTP/2; is it etcd?"
        default: "\(error)".excerpt
        }
    }
}

extension ConnectionTrouble: ExpressibleByStringInterpolation {
    package init(stringLiteral text: String) { self.init(text) }
}
#endif

#if Cluster
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import StateMachineEtcd
import TestSupport

/// What stands in for an engine that does what no etcd does: it speaks HTTP/2, and answers each call as the test says.
enum FakeEngine {
    /// Listens while `body` runs; `serve` is called on the event loop when the first part of a request has come.
    static func run(
        _ serve: @escaping @Sendable (FakeCall) -> Void,
        _ body: (EtcdEndpoint) async throws -> Void
    ) async throws {
        try await self.listen(
            { channel in
                channel.configureHTTP2Pipeline(
                    mode: .server,
                    connectionConfiguration: .init(),
                    streamConfiguration: .init()
                ) { stream in
                    stream.eventLoop.makeCompletedFuture {
                        try stream.pipeline.syncOperations.addHandler(Stream(on: channel, serve))
                    }
                }.map { _ in }
            },
            body
        )
    }

    /// Listens while `body` runs, and sends these bytes to whoever connects; with `isClosing` it hangs up then.
    static func run(
        sending bytes: [UInt8],
        isClosing: Bool = false,
        _ body: (EtcdEndpoint) async throws -> Void
    ) async throws {
        try await self.listen(
            { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        Speaker(bytes, isClosing: isClosing)
                    )
                }
            },
            body
        )
    }

    private static func listen(
        _ initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>,
        _ body: (EtcdEndpoint) async throws -> Void
    ) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer(initialize)
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body(EtcdEndpoint("http://127.0.0.1:\(server.localAddress?.port ?? 0)"))
        } catch {
            try await server.close()
            throw error
        }
        try await server.close()
    }

    private final class Stream: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        private let connection: any Channel
        private let serve: (FakeCall) -> Void
        private var path = ""
        private var isServed = false

        init(on connection: any Channel, _ serve: @escaping (FakeCall) -> Void) {
            (self.connection, self.serve) = (connection, serve)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .headers(let headers): self.path = headers.headers.first(name: ":path") ?? ""
            case .data(let data):
                guard !self.isServed, case .byteBuffer(let buffer) = data.data else { return }
                self.isServed = true
                self.serve(
                    FakeCall(
                        path: self.path,
                        message: Array(buffer.readableBytesView.dropFirst(5)),
                        stream: context.channel,
                        connection: self.connection
                    )
                )
            default: break
            }
        }
    }

    private final class Speaker: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let bytes: [UInt8]
        private let isClosing: Bool

        init(_ bytes: [UInt8], isClosing: Bool) {
            (self.bytes, self.isClosing) = (bytes, isClosing)
        }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: self.bytes)), promise: nil)
            if self.isClosing { context.close(promise: nil) }
        }
    }
}

/// A call that a fake engine has got.
struct FakeCall: Sendable {
    let path: String
    let message: [UInt8]
    let stream: any Channel
    let connection: any Channel

    func send(
        headers: HPACKHeaders = [":status": "200", "content-type": "application/grpc"],
        isLast: Bool = false
    ) {
        self.send(.headers(.init(headers: headers, endStream: isLast)))
    }

    func send(_ bytes: [UInt8], isLast: Bool = false) {
        self.send(.data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes)), endStream: isLast)))
    }

    /// A whole message.
    func send(message: [UInt8]) { self.send(Array(GRPCFrames.frame(message).readableBytesView)) }

    func end(_ status: Int = 0, _ text: String = "") {
        self.send(
            .headers(
                .init(headers: ["grpc-status": "\(status)", "grpc-message": text], endStream: true)
            )
        )
    }

    /// A status without an answer, as etcd sends it.
    func refuse(_ status: Int, _ text: String) {
        self.send(
            headers: [":status": "200", "grpc-status": "\(status)", "grpc-message": text],
            isLast: true
        )
    }

    func reset(_ code: HTTP2ErrorCode) { self.send(.rstStream(code)) }

    func goAway(_ code: HTTP2ErrorCode, after last: HTTP2StreamID) {
        let frame = HTTP2Frame(
            streamID: .rootStream,
            payload: .goAway(
                lastStreamID: last,
                errorCode: code,
                opaqueData: ByteBuffer(string: "bye")
            )
        )
        self.connection.writeAndFlush(frame, promise: nil)
    }

    private func send(_ payload: HTTP2Frame.FramePayload) {
        self.stream.writeAndFlush(payload, promise: nil)
    }
}
#endif

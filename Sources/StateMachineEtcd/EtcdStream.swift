#if Cluster
import NIOCore
import NIOHPACK
import NIOHTTP2

/// One stream of a connection: sends a request, and tells what the answer means.
///
/// Belongs to the connection's event loop.
final class EtcdStream: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private struct Request {
        let headers: HPACKHeaders
        let message: ByteBuffer
        let isWhole: Bool
        /// Why the connection has ended, once it has.
        let why: () -> String
        let tell: (GRPCAnswer.Meaning) -> Void
    }

    /// Until it has ended; nobody is told anything after that.
    private var request: Request?
    private var answer = GRPCAnswer()
    private var channel: (any Channel)?
    private var isStopped = false

    func begin(
        _ headers: HPACKHeaders,
        _ message: ByteBuffer,
        isWhole: Bool,
        why: @escaping () -> String,
        tell: @escaping (GRPCAnswer.Meaning) -> Void
    ) {
        guard !self.isStopped else { return }
        self.request = Request(
            headers: headers,
            message: message,
            isWhole: isWhole,
            why: why,
            tell: tell
        )
    }

    /// Ends it; the engine learns that nobody waits for the rest.
    func stop() {
        self.isStopped = true
        self.request = nil
        self.channel?.close(promise: nil)
    }

    func channelActive(context: ChannelHandlerContext) {
        guard let request = self.request else { return context.close(promise: nil) }
        self.channel = context.channel
        context.write(self.wrapOutboundOut(.headers(.init(headers: request.headers))), promise: nil)
        let data = HTTP2Frame.FramePayload.Data(
            data: .byteBuffer(request.message),
            endStream: request.isWhole
        )
        context.writeAndFlush(self.wrapOutboundOut(.data(data)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .headers(let headers):
            self.thisHappened(.headers(headers.headers, isLast: headers.endStream))
        case .data(let data):
            guard case .byteBuffer(let buffer) = data.data else { return }
            self.thisHappened(.data(buffer, isLast: data.endStream))
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let closed = error as? NIOHTTP2Errors.StreamClosed {
            self.thisHappened(
                closed.errorCode == .refusedStream
                    ? .turnedAway : .broken("the engine has ended the call (\(closed.errorCode))")
            )
        } else {
            self.thisHappened(.broken("\(error)".excerpt))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.channel = nil
        if let request = self.request { self.thisHappened(.broken(request.why())) }
    }

    /// There is no stream, so nothing was sent.
    func wasNotMade() {
        if self.channel == nil { self.thisHappened(.turnedAway) }
    }

    private func thisHappened(_ event: GRPCAnswer.Event) {
        for meaning in self.answer.thisHappened(event) { self.request?.tell(meaning) }
    }
}
#endif

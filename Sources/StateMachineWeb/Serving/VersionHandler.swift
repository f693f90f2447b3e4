#if Web
import NIOCore
import NIOHTTP1

/// Answers a client of HTTP/1.0 as RFC 9112 says: without chunks, and the end of the connection is
/// the end of the answer.
///
/// A request of any version has one host then: its target's if that has one, and none if it has several fields.
///
/// Stands between NIO's coders and the part that knows no versions. Requests come one at a time.
final class VersionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var isOld = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = self.unwrapInboundIn(data) else {
            context.fireChannelRead(data)
            return
        }
        self.isOld = (head.version.major, head.version.minor) < (1, 1)
        if self.isOld { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        Self.settleHost(of: &head)
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }

    private static func settleHost(of head: inout HTTPRequestHead) {
        guard head.headers["Host"].count < 2 else { return head.headers.remove(name: "Host") }
        guard !head.uri.hasPrefix("/"), let scheme = head.uri.firstRange(of: "://") else { return }
        let host = head.uri[scheme.upperBound...].prefix { !"/?#".contains($0) }
        head.headers.replaceOrAdd(name: "Host", value: String(host))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard self.isOld, case .head(var head) = self.unwrapOutboundIn(data) else {
            context.write(data, promise: promise)
            return
        }
        head.version = .http1_0
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        context.write(self.wrapOutboundOut(.head(head)), promise: promise)
    }
}
#endif

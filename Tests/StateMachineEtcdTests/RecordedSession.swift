#if Cluster
import Foundation
import NIOCore
import NIOHPACK
import NIOPosix
import StateMachineCore
import StateMachineEtcd
import Subprocess
import TestSupport

/// A session of etcdctl with a real etcd, as it was on the wire: so requests are as etcd's own generated code writes them.
///
/// `STATEMACHINE_RECORD_ETCD=1` records it again.
struct RecordedSession {
    static let isRecording = ProcessInfo.processInfo.environment["STATEMACHINE_RECORD_ETCD"] != nil
    private static let path =
        #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/Recorded/session"

    /// One call.
    struct Exchange {
        var path = ""
        /// Messages, without their frames.
        var sent: [[UInt8]] = []
        var received: [[UInt8]] = []
        var status = ""
    }

    let exchanges: [Exchange]

    /// As it was recorded.
    init() throws {
        var exchanges: [Exchange] = []
        for line in try String(contentsOfFile: Self.path, encoding: .utf8).split(separator: "\n") {
            let rest = line.dropFirst(2)
            switch line.first {
            case "/": exchanges.append(Exchange(path: String(line)))
            case ">": exchanges[exchanges.count - 1].sent.append(try Self.bytes(rest))
            case "<": exchanges[exchanges.count - 1].received.append(try Self.bytes(rest))
            case "=": exchanges[exchanges.count - 1].status = String(rest)
            default: throw TestFailure("a line that is none: \(line)")
            }
        }
        self.exchanges = exchanges
    }

    subscript(path: String) -> [Exchange] { self.exchanges.filter { $0.path == path } }

    private static func bytes(_ hexadecimal: Substring) throws -> [UInt8] {
        let digits = Array(hexadecimal)
        return try stride(from: 0, to: digits.count - 1, by: 2).map { index in
            guard let byte = UInt8(String(digits[index...index + 1]), radix: 16) else {
                throw TestFailure("no byte: \(hexadecimal)")
            }
            return byte
        }
    }

    /// Records it.
    static func record() async throws {
        let tap = Tap()
        try await EtcdProcess.run { etcd, directory in
            try await tap.run(to: etcd.endpoint) { endpoint in
                func etcdctl(_ words: String, input: String = "") async throws -> String {
                    try await runTool(
                        .name("etcdctl"),
                        ["--endpoints", "127.0.0.1:\(endpoint.port)"]
                            + words.split(separator: " ").map { String($0) },
                        input: input,
                        environment: ["ETCDCTL_API": "3"]
                    ).output
                }
                _ = try await etcdctl("put /m/head one")
                _ = try await etcdctl("put /m/head two")
                _ = try await etcdctl("put --ignore-value /m/head")
                _ = try await etcdctl("put /m/log/0001 {}")
                _ = try await etcdctl("get --prefix /m/")
                _ = try await etcdctl("get --prefix --limit=1 --keys-only --rev=3 /m/")
                _ = try await etcdctl(
                    "txn",
                    input:
                        "mod(\"/m/head\") = \"4\"\n\nput /m/head three\ndel /m/log/0001\n\nget /m/head\n\n"
                )
                _ = try await etcdctl(
                    "txn",
                    input: "mod(\"/m/head\") = \"4\"\n\nput /m/head four\n\nget /m/head\n\n"
                )
                let granted = try await etcdctl("lease grant 60")
                let lease = granted.split(separator: " ")[1]
                _ = try await etcdctl("put --lease=\(lease) /m/hosts/a x")
                _ = try await etcdctl("lease keep-alive --once \(lease)")
                let watch = try SpawnedProcess(
                    [
                        "env", "ETCDCTL_API=3", "etcdctl", "--endpoints",
                        "127.0.0.1:\(endpoint.port)", "watch", "--prefix", "/m/", "--rev=1",
                    ],
                    output: "\(directory)/watch"
                )
                try await watch.wait(for: "/m/hosts/a")
                _ = try await etcdctl("lease revoke \(lease)")
                try await watch.wait(for: "DELETE\n/m/hosts/a")
                try await watch.end(by: SIGKILL)
                _ = try await etcdctl("del --prefix /m/log/")
                _ = try await etcdctl("compaction 7")
                _ = try await etcdctl("get --rev=3 /m/head")
                _ = try await etcdctl("watch --rev=3 /m/head")
                _ = try await etcdctl("endpoint status")
            }
        }
        var text = ""
        for exchange in tap.exchanges where !exchange.path.hasSuffix("Compact") {
            text += "\(exchange.path)\n"
            for message in exchange.sent { text += "> \(Self.hexadecimal(message))\n" }
            for message in exchange.received { text += "< \(Self.hexadecimal(message))\n" }
            text += "= \(exchange.status)\n"
        }
        text.replace(" \n", with: "\n")
        try text.write(toFile: Self.path, atomically: true, encoding: .utf8)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { $0.digits(2, radix: 16) }.joined()
    }
}

/// Stands between client and engine, and keeps what each sends.
///
/// Guarded state, behind its lock: the bytes of each connection, both ways.
final class Tap: Sendable {
    private let connections = Lock<[(up: [UInt8], down: [UInt8])]>([])

    func run(to engine: EtcdEndpoint, _ body: (EtcdEndpoint) async throws -> Void) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                let number = self.connections.withLock {
                    $0.append(([], []))
                    return $0.count - 1
                }
                return ClientBootstrap(group: client.eventLoop)
                    .connect(host: engine.host, port: engine.port)
                    .flatMapThrowing { upstream in
                        try client.pipeline.syncOperations.addHandler(
                            Pipe(to: upstream) { bytes in
                                self.connections.withLock { $0[number].up += bytes }
                            }
                        )
                        try upstream.pipeline.syncOperations.addHandler(
                            Pipe(to: client) { bytes in
                                self.connections.withLock { $0[number].down += bytes }
                            }
                        )
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        try await body(EtcdEndpoint("http://127.0.0.1:\(server.localAddress?.port ?? 0)"))
        try await server.close()
    }

    /// The calls of all connections, in order.
    var exchanges: [RecordedSession.Exchange] {
        self.connections.withLock { $0 }.flatMap { connection in
            var calls: [Int32: RecordedSession.Exchange] = [:]
            // After "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".
            Self.frames(connection.up.dropFirst(24)) { stream, headers, messages in
                if let headers {
                    calls[stream, default: .init()].path = headers.first(name: ":path") ?? ""
                }
                calls[stream, default: .init()].sent += messages
            }
            Self.frames(connection.down[...]) { stream, headers, messages in
                if let status = headers?.first(name: "grpc-status") {
                    let text = headers?.first(name: "grpc-message").map { " \($0)" } ?? ""
                    calls[stream]?.status = status + (text == " " ? "" : text)
                }
                calls[stream]?.received += messages
            }
            return calls.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private static func frames(
        _ bytes: ArraySlice<UInt8>,
        _ tell: (Int32, HPACKHeaders?, [[UInt8]]) -> Void
    ) {
        var rest = bytes
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
        var streams: [Int32: GRPCFrames] = [:]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = head.prefix(3).reduce(0) { $0 << 8 | Int($1) }
            let stream = head.suffix(4).reduce(0 as Int32) { $0 << 8 | Int32($1) }
            var body = ByteBuffer(bytes: rest.dropFirst(9).prefix(length))
            rest = rest.dropFirst(9 + length)
            switch head[3] {
            // Neither padding nor priorities come from grpc-go.
            case 0:
                streams[stream, default: GRPCFrames()].append(body)
                var messages: [[UInt8]] = []
                while let message = try? streams[stream]?.next() { messages.append(message) }
                tell(stream, nil, messages)
            case 1: tell(stream, try? decoder.decodeHeaders(from: &body), [])
            default: break
            }
        }
    }

    private final class Pipe: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let other: any Channel
        private let keep: ([UInt8]) -> Void

        init(to other: any Channel, keep: @escaping ([UInt8]) -> Void) {
            (self.other, self.keep) = (other, keep)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = self.unwrapInboundIn(data)
            self.keep(Array(buffer.readableBytesView))
            self.other.writeAndFlush(buffer, promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { self.other.close(promise: nil) }
    }
}
#endif

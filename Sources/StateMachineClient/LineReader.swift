import Glibc
import NIOCore
import StateMachineProtocol

/// Hands a connection's lines to the one task that iterates over them, and reads on only while
/// that task keeps up.
///
/// Guarded state: `framer`, `isPaused`; both belong to the channel's event loop.
final class LineReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias Producer = NIOThrowingAsyncSequenceProducer<
        [UInt8], any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Demand
    >

    /// Lines kept for an iterating task that is behind.
    ///
    /// Reading stops at the high mark and goes on at the low one; what is not read stays in the
    /// kernel, and then with the daemon.
    ///
    /// 256 and 64: one read brings about 250 plain lines. Not tuned.
    private static let marks =
        NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark(
            lowWatermark: 64,
            highWatermark: 256
        )

    private let path: String
    private let source: Producer.Source
    private var framer = LineFramer()
    private var isPaused = false

    private init(path: String, source: Producer.Source) {
        self.path = path
        self.source = source
    }

    /// Puts a reader into the pipeline of `channel`, on its event loop.
    ///
    /// - Returns: the lines; to be iterated over once. Dropping them closes the channel.
    static func add(to channel: any Channel, path: String) throws -> Producer {
        let made = Producer.makeSequence(
            elementType: [UInt8].self,
            failureType: (any Error).self,
            backPressureStrategy: self.marks,
            finishOnDeinit: true,
            delegate: Demand(channel: channel)
        )
        let reader = LineReader(path: path, source: made.source)
        try channel.pipeline.syncOperations.addHandler(reader)
        return made.sequence
    }

    func channelActive(context: ChannelHandlerContext) {
        context.read()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = self.unwrapInboundIn(data)
        let lines: [[UInt8]]
        do {
            lines = try self.framer.append(buffer.readableBytesView)
        } catch {
            self.source.finish(
                ClientError.lineTooLong(path: self.path, limit: RequestLimits.serverLineBytes)
            )
            context.close(promise: nil)
            return
        }
        switch self.source.yield(contentsOf: lines) {
        case .produceMore: self.isPaused = false
        case .stopProducing: self.isPaused = true
        case .dropped: context.close(promise: nil)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !self.isPaused { context.read() }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.source.finish()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? ClientError {
            self.source.finish(error)
        } else {
            // A reset and the like; to the reader it is the end, as an orderly close is.
            self.source.finish()
        }
        context.close(promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is Demand.More else { return context.fireUserInboundEventTriggered(event) }
        self.isPaused = false
        context.read()
    }

    /// Tells the reader when the iterating task wants more, and the channel when it is gone.
    struct Demand: NIOAsyncSequenceProducerDelegate {
        fileprivate struct More {}

        fileprivate let channel: any Channel

        func produceMore() { self.channel.pipeline.fireUserInboundEventTriggered(More()) }

        func didTerminate() { self.channel.close(promise: nil) }
    }
}

/// Cuts received bytes into lines.
struct LineFramer {
    /// A line is longer than the longest line allowed.
    struct LineTooLong: Error {}

    /// What came after the last newline.
    ///
    /// If the connection ends here it is discarded: a line without its newline was not sent whole.
    private var rest: [UInt8] = []

    /// The lines that end in `bytes`, without their newlines.
    mutating func append(_ bytes: some Collection<UInt8>) throws(LineTooLong) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        let bytes = Array(bytes)
        var start = 0
        while let newline = Self.newline(in: bytes, from: start) {
            let line = self.rest + bytes[start..<newline]
            self.rest.removeAll()
            guard line.count <= RequestLimits.serverLineBytes else { throw LineTooLong() }
            lines.append(line)
            start = newline + 1
        }
        guard self.rest.count + bytes.count - start <= RequestLimits.serverLineBytes else {
            throw LineTooLong()
        }
        self.rest += bytes[start...]
        return lines
    }

    private static func newline(in bytes: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress else { return nil }
            return memchr(base + start, CInt(UInt8(ascii: "\n")), bytes.count - start)
                .map { UnsafeRawPointer($0) - base }
        }
    }
}

#if Cluster
package import NIOCore
package import NIOHPACK
import StateMachineCore

/// What comes on one stream, as gRPC has it: headers, messages, and a status at the end.
///
/// A value that decides and does nothing; each event is told to ``thisHappened(_:)``, and what it means comes back.
package struct GRPCAnswer {
    package enum Event {
        case headers(HPACKHeaders, isLast: Bool)
        case data(ByteBuffer, isLast: Bool)
        /// The stream was refused before anybody looked at it, which the peer says.
        case turnedAway
        /// It ended, and why.
        case broken(String)
    }

    package enum Meaning: Hashable {
        case message([UInt8])
        case ended(End)
    }

    /// How a stream ended.
    package enum End: Hashable, Sendable {
        /// gRPC's code, 0 if all is well, and what the engine says.
        case status(Int, String)
        case turnedAway
        case broken(String)
        /// What came is no gRPC, or more than is taken; the stream is of no use any longer.
        case malformed(String)
    }

    private enum State {
        case awaitingHeaders
        case reading
        case ended
    }

    private var state = State.awaitingHeaders
    private var frames = GRPCFrames()

    package init() {}

    package mutating func thisHappened(_ event: Event) -> [Meaning] {
        guard case .ended = self.state else {
            do {
                return try self.meaning(of: event)
            } catch {
                return self.end(.malformed(error.description))
            }
        }
        return []
    }

    private mutating func meaning(of event: Event) throws(Malformed) -> [Meaning] {
        switch (event, self.state) {
        case (.headers(let headers, let isLast), .awaitingHeaders):
            let status = headers.first(name: ":status") ?? "none"
            guard status == "200" else { throw Malformed("its HTTP status is \(status.excerpt)") }
            self.state = .reading
            return isLast ? try self.end(with: headers) : []
        case (.headers(let headers, true), .reading): return try self.end(with: headers)
        case (.headers(_, false), .reading): throw Malformed("there are headers within an answer")
        case (.data, .awaitingHeaders): throw Malformed("an answer comes before its headers")
        case (.data(let data, let isLast), .reading):
            self.frames.append(data)
            var messages: [Meaning] = []
            while let message = try self.frames.next() { messages.append(.message(message)) }
            guard !isLast else { throw Malformed("an answer has no status") }
            return messages
        case (.turnedAway, .awaitingHeaders): return self.end(.turnedAway)
        case (.turnedAway, .reading): return self.end(.broken("the engine has given the call up"))
        case (.broken(let why), _): return self.end(.broken(why))
        case (_, .ended): return []
        }
    }

    private mutating func end(with trailers: HPACKHeaders) throws(Malformed) -> [Meaning] {
        guard let code = trailers.first(name: "grpc-status").flatMap(Int.init) else {
            throw Malformed("an answer has no status")
        }
        guard code != 0 || self.frames.isAtEnd else { throw Malformed("a message is not whole") }
        return self.end(.status(code, (trailers.first(name: "grpc-message") ?? "").excerpt))
    }

    private mutating func end(_ end: End) -> [Meaning] {
        self.state = .ended
        self.frames = GRPCFrames()
        return [.ended(end)]
    }
}

/// Messages as gRPC sends them: a byte that says whether it is compressed, four with its length, the message.
package struct GRPCFrames {
    /// The longest message that is taken.
    ///
    /// 32 MiB: twice the log that a machine keeps in the engine unless it is told otherwise, read at once.
    package static let longest = 32 << 20

    private var buffer = ByteBuffer()

    package init() {}

    /// Whether no message has begun.
    package var isAtEnd: Bool { self.buffer.readableBytes == 0 }

    package mutating func append(_ data: ByteBuffer) {
        self.buffer.discardReadBytes()
        self.buffer.writeImmutableBuffer(data)
    }

    /// The next message that is there as a whole.
    package mutating func next() throws(Malformed) -> [UInt8]? {
        let start = self.buffer.readerIndex
        guard let isCompressed = self.buffer.getInteger(at: start, as: UInt8.self),
            isCompressed == 0
        else {
            if self.isAtEnd { return nil }
            // Nobody may compress, since we have not said that we could read it.
            throw Malformed("what answers does not speak gRPC")
        }
        guard let length = self.buffer.getInteger(at: start + 1, as: UInt32.self) else {
            return nil
        }
        guard length <= Self.longest else {
            throw Malformed(
                "a message has \(length) bytes, and \(Self.longest) are the most that is taken"
            )
        }
        guard let message = self.buffer.getBytes(at: start + 5, length: Int(length)) else {
            return nil
        }
        self.buffer.moveReaderIndex(forwardBy: 5 + Int(length))
        return message
    }

    /// That message as it is sent.
    package static func frame(_ message: [UInt8]) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(5 + message.count)
        buffer.writeInteger(0 as UInt8)
        buffer.writeInteger(UInt32(message.count))
        buffer.writeBytes(message)
        return buffer
    }
}

extension String {
    /// What a stranger says, as it may stand in a sentence: 300 characters are longer than anything that etcd says.
    var excerpt: String { String(self.prefix(300)).printable }
}
#endif

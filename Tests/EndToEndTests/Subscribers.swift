import Glibc
import TestSupport

/// Many subscribers read by one thread, fast enough that they never lag further than the ring
/// reaches.
///
/// The lines of watches without id are the same bytes for all, so one subscriber's stream is kept,
/// and the others' are compared with it as they arrive.
struct Subscribers: Sendable {
    private let sockets: [LineSocket]

    /// Connects them and reads each one's first line.
    init(_ count: Int, at path: String) async throws {
        self.sockets = try (0..<count).map { _ in try LineSocket(connectingTo: path) }
        for socket in self.sockets { _ = try await socket.next() }
    }

    /// Reads until the first subscriber's stream ends with `end` and all others have been sent the
    /// same; returns that stream.
    ///
    /// The reading thread calls `tick` after every `interval` lines of the first subscriber.
    func readAll(
        upTo end: String,
        every interval: Int = .max,
        _ tick: @escaping @Sendable () throws -> Void = {}
    ) async throws -> [UInt8] {
        try await blocking {
            var lines = 0
            var stream: [UInt8] = []
            var offsets = [Int](repeating: 0, count: self.sockets.count)
            var chunk = [UInt8](repeating: 0, count: 1 << 20)
            while !stream.hasSuffix(end) || offsets.contains(where: { $0 < stream.count }) {
                var polls = self.sockets.map {
                    pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
                }
                guard poll(&polls, nfds_t(polls.count), longestWait) > 0 else {
                    throw TestFailure("nothing more came after \(stream.count) bytes")
                }
                for index in polls.indices where polls[index].revents != 0 {
                    let wanted = index == 0 ? chunk.count : stream.count - offsets[index]
                    guard wanted > 0 else { continue }
                    let count = recv(polls[index].fd, &chunk, min(chunk.count, wanted), 0)
                    guard count > 0 else { throw TestFailure("subscriber \(index) was cut off") }
                    if index == 0 {
                        stream.append(contentsOf: chunk[..<count])
                        let ticks = lines / interval
                        lines += chunk[..<count].count { $0 == UInt8(ascii: "\n") }
                        for _ in ticks..<lines / interval { try tick() }
                    } else if !stream.agrees(with: chunk, count, at: offsets[index]) {
                        throw TestFailure("subscriber \(index) was sent something else")
                    }
                    offsets[index] += count
                }
            }
            return stream
        }
    }
}

extension [UInt8] {
    fileprivate func hasSuffix(_ text: String) -> Bool {
        self.suffix(text.utf8.count).elementsEqual(text.utf8)
    }

    fileprivate func agrees(with other: [UInt8], _ count: Int, at offset: Int) -> Bool {
        self.withUnsafeBytes { own in
            guard let base = own.baseAddress else { return count == 0 }
            return memcmp(base + offset, other, count) == 0
        }
    }
}

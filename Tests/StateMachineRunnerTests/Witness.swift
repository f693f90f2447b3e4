import Glibc
import Synchronization
import TestSupport

/// What commands write into a FIFO: lines in the order in which they were written.
///
/// Guarded state: `buffer`, behind its lock; one task reads.
final class Witness: Sendable {
    let path: String
    private let descriptor: CInt
    private let buffer = Mutex<[UInt8]>([])

    init(at path: String) throws {
        self.path = path
        guard mkfifo(path, 0o600) == 0 else {
            throw TestFailure("cannot make \(path): errno \(errno)")
        }
        // Open at both ends, so that no writer waits for a reader, and it never ends.
        self.descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard self.descriptor >= 0 else { throw TestFailure("cannot open \(path): errno \(errno)") }
    }

    deinit { close(self.descriptor) }

    /// The next line.
    func next() async throws -> String {
        try await blocking {
            while true {
                if let line = self.line() { return line }
                try self.fill()
            }
        }
    }

    /// The next `count` lines.
    func next(_ count: Int) async throws -> [String] {
        var lines: [String] = []
        for _ in 0..<count { lines.append(try await self.next()) }
        return lines
    }

    /// All lines that have been written and not read.
    func rest() -> [String] {
        self.readNow()
        var lines: [String] = []
        while let line = self.line() { lines.append(line) }
        return lines
    }

    private func line() -> String? {
        self.buffer.withLock { buffer in
            guard let end = buffer.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            defer { buffer.removeSubrange(...end) }
            return String(decoding: buffer[..<end], as: UTF8.self)
        }
    }

    private func fill() throws {
        var ready = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, longestWait) > 0 else {
            throw TestFailure("no command said anything")
        }
        self.readNow()
    }

    private func readNow() {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(self.descriptor, &chunk, chunk.count)
            guard count > 0 else { return }
            self.buffer.withLock { $0 += chunk[..<count] }
        }
    }
}

import Foundation
import Glibc

/// The plainest possible client: a connected socket, lines out, lines in.
///
/// Guarded state: `buffer` belongs to the one reader; a test reads a socket from one task. That is
/// what makes `@unchecked Sendable` true.
package final class LineSocket: @unchecked Sendable {
    package let descriptor: CInt
    private var buffer: [UInt8] = []
    private var isOpen = true

    package init(connectingTo path: String) throws {
        self.descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let result = UnixSocket.withAddress(path) { connect(self.descriptor, $0, $1) }
        guard result == 0 else {
            let code = errno
            Glibc.close(self.descriptor)
            throw TestFailure("cannot connect to \(path): errno \(code)")
        }
    }

    /// Connects to a port of this computer.
    package init(connectingToPort port: UInt16) throws {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            Glibc.close(self.descriptor)
            throw TestFailure("cannot connect to port \(port): errno \(code)")
        }
    }

    deinit { self.vanish() }

    /// Closes the socket, even with unread input; `deinit` does so too.
    package func vanish() {
        guard self.isOpen else { return }
        self.isOpen = false
        Glibc.close(self.descriptor)
    }

    /// Sends text and a newline.
    package func send(_ line: String) throws { try self.send(raw: line + "\n") }

    package func send(raw text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Glibc.send(self.descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw TestFailure("cannot send: errno \(errno)") }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Sends as much as the socket takes at once; returns the number of bytes.
    package func sendNow(_ bytes: ArraySlice<UInt8>) throws -> Int {
        let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
        let count = bytes.withUnsafeBytes {
            Glibc.send(self.descriptor, $0.baseAddress, $0.count, flags)
        }
        guard count >= 0 || errno == EAGAIN else {
            throw TestFailure("cannot send: errno \(errno)")
        }
        return max(0, count)
    }

    /// Limits roughly how much the socket holds that the other end has not read: SO_SNDBUF of
    /// socket(7).
    package func limitSendBuffer(to bytes: CInt) {
        var bytes = bytes
        let size = socklen_t(MemoryLayout<CInt>.size)
        setsockopt(self.descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, size)
    }

    /// Says that nothing more will be sent.
    package func endInput() { shutdown(self.descriptor, CInt(SHUT_WR)) }

    /// The next line without its newline; nil at the end.
    package func nextLine() async throws -> String? {
        try await blocking { try self.readLine() }
    }

    /// The next line as JSON.
    package func next() async throws -> JSONLine {
        guard let line = try await self.nextLine() else {
            throw TestFailure("the connection ended where a line was expected")
        }
        return try JSONLine(line)
    }

    /// Sends a line and returns the next one that comes.
    package func ask(_ line: String) async throws -> JSONLine {
        try self.send(line)
        return try await self.next()
    }

    /// The changes that come, and the line after them.
    package func changes() async throws -> (changes: [JSONLine], end: JSONLine) {
        var changes: [JSONLine] = []
        while true {
            let line = try await self.next()
            guard line.type == "change" else { return (changes, line) }
            changes.append(line)
        }
    }

    /// All lines up to the end of the connection.
    package func rest() async throws -> [JSONLine] {
        var lines: [JSONLine] = []
        while let line = try await self.nextLine() { lines.append(try JSONLine(line)) }
        return lines
    }

    /// The complete lines that have arrived, without waiting; nil once the connection has ended and
    /// all are read.
    package func linesSoFar() throws -> [String]? {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var hasEnded = false
        while !hasEnded {
            let count = recv(self.descriptor, &chunk, chunk.count, CInt(MSG_DONTWAIT))
            if count < 0, errno == EAGAIN { break }
            guard count >= 0 else { throw TestFailure("cannot receive: errno \(errno)") }
            if count == 0 { hasEnded = true }
            self.buffer.append(contentsOf: chunk[..<count])
        }
        var lines: [String] = []
        var rest = self.buffer[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[(end + 1)...]
        }
        self.buffer = Array(rest)
        guard hasEnded, lines.isEmpty else { return lines }
        guard self.buffer.isEmpty else { throw TestFailure("the connection ended in mid-line") }
        return nil
    }

    /// What has been read after the last newline.
    package var unfinishedLine: String { String(decoding: self.buffer, as: UTF8.self) }

    /// Waits until there is new input, or the connection has ended.
    package func waitForInput() throws {
        try UnixSocket.wait(for: POLLIN, on: self.descriptor, "a line")
    }

    /// The next line, read on the calling thread, which blocks meanwhile; nil at the end.
    package func readLine() throws -> String? {
        var scanned = 0
        while true {
            if let end = self.buffer[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: self.buffer[..<end], as: UTF8.self)
                self.buffer.removeSubrange(...end)
                return line
            }
            scanned = self.buffer.count
            try UnixSocket.wait(for: POLLIN, on: self.descriptor, "a line")
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = recv(self.descriptor, &chunk, chunk.count, 0)
            if count == 0 { return nil }
            guard count > 0 else { throw TestFailure("cannot receive: errno \(errno)") }
            self.buffer.append(contentsOf: chunk[..<count])
        }
    }
}

/// A server's line: its text, and its values.
package struct JSONLine: @unchecked Sendable, CustomStringConvertible {
    package let description: String
    // Foundation's JSON value types, created once and then only read.
    private let object: [String: Any]

    package init(_ text: String) throws {
        self.description = text
        let json = try JSONSerialization.jsonObject(with: Data(text.utf8))
        guard let object = json as? [String: Any] else { throw TestFailure("no object: \(text)") }
        self.object = object
    }

    private init(_ object: [String: Any]) {
        self.description = "\(object)"
        self.object = object
    }

    package var type: String? { self.object["type"] as? String }
    package var ok: Bool? { self.object["ok"] as? Bool }
    package var error: String? { self.object["error"] as? String }
    package var seq: Int? { self.object["seq"] as? Int }
    package var state: String? { self.object["state"] as? String }

    package func string(_ key: String) -> String? { self.object[key] as? String }
    package func int(_ key: String) -> Int? { self.object[key] as? Int }
    package func bool(_ key: String) -> Bool? { self.object[key] as? Bool }
    package func integers(_ key: String) -> [Int]? { self.object[key] as? [Int] }
    package func strings(_ key: String) -> [String]? { self.object[key] as? [String] }
    package func item(_ key: String) -> JSONLine? {
        (self.object[key] as? [String: Any]).map { JSONLine($0) }
    }
    package func items(_ key: String) -> [JSONLine]? {
        (self.object[key] as? [[String: Any]])?.map { JSONLine($0) }
    }
    package func has(_ key: String) -> Bool { self.object[key] != nil }

    /// The keys, in no order.
    package var names: Set<String> { Set(self.object.keys) }

    /// The outermost object's keys, in the line's order.
    package var keys: [String] {
        var keys: [String] = []
        var depth = 0
        var inString = false
        var isEscaped = false
        var word = ""
        for character in self.description {
            if inString {
                if isEscaped {
                    isEscaped = false
                } else if character == "\\" {
                    isEscaped = true
                } else if character == "\"" {
                    inString = false
                } else {
                    word.append(character)
                }
                continue
            }
            switch character {
            case "\"":
                inString = true
                word = ""
            case "{", "[": depth += 1
            case "}", "]": depth -= 1
            case ":" where depth == 1: keys.append(word)
            default: break
            }
        }
        return keys
    }
}

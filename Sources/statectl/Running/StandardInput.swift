import ArgumentParser
import Glibc
import SystemPackage

/// Standard input, for commands that read what they are given there.
enum StandardInput {
    /// The whole of it, up to its end.
    ///
    /// - Parameter limit: the most bytes; more are refused.
    /// - Returns: the text.
    /// - Throws: `ValidationError`, or why it cannot be read.
    static func text(upTo limit: Int) throws -> String {
        var bytes: [UInt8] = []
        while true {
            let more: [UInt8]
            do {
                more = try [UInt8](unsafeUninitializedCapacity: limit + 1) { buffer, count in
                    count = try FileDescriptor.standardInput.read(
                        into: UnsafeMutableRawBufferPointer(buffer)
                    )
                }
            } catch Errno.resourceTemporarilyUnavailable {
                // Whoever shares the descriptor with us has made it non-blocking.
                var wish = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                poll(&wish, 1, -1)
                continue
            }
            if more.isEmpty { break }
            bytes += more
            guard bytes.count <= limit else {
                throw ValidationError("standard input is longer than \(limit) bytes")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ValidationError("standard input is not UTF-8")
        }
        return text
    }
}

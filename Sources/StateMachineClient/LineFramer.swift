import Glibc
import StateMachineProtocol

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

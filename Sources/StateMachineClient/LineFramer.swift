import Glibc

/// Cuts received bytes into lines.
struct LineFramer {
    /// The most bytes that a line may have.
    ///
    /// 16 MiB: a change with two states of 64 KiB has less than 200 KiB; a denial that names 512 holds,
    /// with their reasons, had 1.6 MiB, and a daemon that serves thousands lists them in `stats`. Not tuned.
    static let lineBytes = 1 << 24

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
            guard line.count <= Self.lineBytes else { throw LineTooLong() }
            lines.append(line)
            start = newline + 1
        }
        guard self.rest.count + bytes.count - start <= Self.lineBytes else { throw LineTooLong() }
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

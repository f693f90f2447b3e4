/// Cuts received bytes into lines.
struct LineFramer {
    /// Bytes that a line may have.
    ///
    /// 1 MiB: a change with two states of 64 KiB has less than 200 KiB, the longest replies are
    /// lists of some hundred rows. Not tuned.
    static let lineBytes = 1 << 20

    /// A line did not end where the longest line must have ended.
    struct LineTooLong: Error {}

    /// What came after the last newline.
    ///
    /// If the connection ends here it is discarded: a line without its newline was not sent whole.
    private var rest: [UInt8] = []

    /// The lines that end in `bytes`, without their newlines.
    mutating func append(_ bytes: some Collection<UInt8>) throws(LineTooLong) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var remaining = bytes[...]
        while let newline = remaining.firstIndex(of: UInt8(ascii: "\n")) {
            let line = self.rest + remaining[..<newline]
            self.rest.removeAll()
            guard line.count <= Self.lineBytes else { throw LineTooLong() }
            lines.append(line)
            remaining = remaining[remaining.index(after: newline)...]
        }
        guard self.rest.count + remaining.count <= Self.lineBytes else { throw LineTooLong() }
        self.rest.append(contentsOf: remaining)
        return lines
    }
}

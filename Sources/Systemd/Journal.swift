internal import CSystemd
internal import Glibc

/// The system's journal: entries with fields, sd_journal_sendv(3).
package enum Journal {
    /// Whether this process's stderr goes to the journal, so that entries with fields can replace
    /// it: `$JOURNAL_STREAM` names stderr's device and inode (systemd.exec(5)).
    package static var isStandardError: Bool {
        guard let stream = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends one entry, and waits for the journal to accept it; false if it does not.
    ///
    /// Names consist of capitals, digits and underscores; values may be anything.
    package static func send(_ fields: [(name: String, value: String)]) -> Bool {
        let entries = fields.map { Array("\($0.name)=\($0.value)".utf8) }
        // A single allocation that stays in place while the vectors point into it.
        let bytes = entries.flatMap(\.self)
        return bytes.withUnsafeBytes { buffer in
            var offset = 0
            let vectors = entries.map { entry in
                defer { offset += entry.count }
                let base = buffer.baseAddress.map { $0 + offset }
                return iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: base),
                    iov_len: entry.count
                )
            }
            return sd_journal_sendv(vectors, CInt(vectors.count)) >= 0
        }
    }
}

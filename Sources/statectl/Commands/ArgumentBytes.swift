import Glibc

/// The words of this process's command line as the bytes that they are.
enum ArgumentBytes {
    /// The first word that is not UTF-8, with its other bytes as `\\xff`: what the standard library makes of it names
    /// another value, and another file.
    static var firstUnreadable: String? {
        let words = UnsafeBufferPointer(
            start: CommandLine.unsafeArgv,
            count: Int(CommandLine.argc)
        )
        return words.lazy.compactMap(\.self).compactMap { self.unreadable($0) }.first
    }

    /// A word, if it is not UTF-8.
    static func unreadable(_ word: UnsafePointer<CChar>) -> String? {
        guard String(validatingCString: word) == nil else { return nil }
        return UnsafeBufferPointer(start: word, count: strlen(word)).map { byte in
            let byte = UInt8(bitPattern: byte)
            return (0x20..<0x7F).contains(byte)
                ? String(Unicode.Scalar(byte))
                : "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        .joined()
    }
}

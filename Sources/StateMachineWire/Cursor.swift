/// A place in a daemon's numbering, `<epoch>:<seq>`.
///
/// Opaque to clients.
package struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// Which numbering: it changes whenever the numbering starts again or may have lost its end.
    package let epoch: Epoch
    package let seq: UInt64

    package init(epoch: Epoch, seq: UInt64) {
        self.epoch = epoch
        self.seq = seq
    }

    /// A cursor as a client gives it back; nil if it was never one of a daemon's.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = Epoch(String(parts[0])),
            parts[1].allSatisfy({ $0.isASCII && $0.isNumber }), let seq = UInt64(parts[1]),
            seq < RequestLimits.integerBound, parts[1] == seq.description
        else { return nil }
        self.init(epoch: epoch, seq: seq)
    }

    package var description: String { "\(self.epoch):\(self.seq)" }
}

/// The name of one numbering: eight hexadecimal digits, drawn at random when it begins.
package struct Epoch: Hashable, Sendable, CustomStringConvertible {
    /// As every line has it.
    let bytes: [UInt8]

    package init?(_ text: String) {
        guard !text.isEmpty, text.count <= 32,
            text.allSatisfy({ $0.isASCII && $0.isHexDigit && !$0.isUppercase })
        else { return nil }
        self.bytes = Array(text.utf8)
    }

    private init(number: UInt32) {
        let digits = String(number, radix: 16)
        self.bytes = Array((String(repeating: "0", count: 8 - digits.count) + digits).utf8)
    }

    package var description: String { String(decoding: self.bytes, as: UTF8.self) }

    /// A new one.
    package static func random() -> Epoch { Epoch(number: .random(in: 0...UInt32.max)) }
}

import StateMachineCore

/// A place in a daemon's numbering, `<epoch>:<seq>`.
///
/// Opaque to clients.
package struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// Which numbering: it changes whenever the numbering starts again or may have lost its end.
    package let epoch: Epoch
    package let seq: UInt64

    /// Bytes that one may have: an epoch, a colon, and the digits of 2^53.
    private static let length = Epoch.length + 1 + 16

    package init(epoch: Epoch, seq: UInt64) {
        self.epoch = epoch
        self.seq = seq
    }

    /// A cursor as a client gives it back; nil if no daemon can have issued it.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.length, text.utf8.allSatisfy(\.isPlain) else { return nil }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = Epoch(String(parts[0])), let seq = UInt64(parts[1]),
            seq < RequestLimits.integerBound, parts[1] == seq.description
        else { return nil }
        self.init(epoch: epoch, seq: seq)
    }

    package var description: String { "\(self.epoch):\(self.seq)" }

    /// Where it is in the numbering of that name, which continues `earlier` ones, each up to a seq; nil if it is nowhere
    /// there.
    package func seq(in epoch: Epoch, after earlier: [Epoch: UInt64]) -> UInt64? {
        if self.epoch == epoch { return self.seq }
        guard let end = earlier[self.epoch], self.seq <= end else { return nil }
        return self.seq
    }
}

/// The name of one numbering: eight hexadecimal digits, drawn at random when it begins.
package struct Epoch: Hashable, Sendable, CustomStringConvertible {
    /// As it appears in every line: not an array, so that whoever copies one copies no reference.
    private let digits: SIMD32<UInt8>
    private let count: Int

    /// The most digits that one may have: those of other versions were longer.
    fileprivate static let length = 32

    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Self.length,
            text.utf8.allSatisfy({ $0.isDigit || "abcdef".utf8.contains($0) })
        else { return nil }
        self.init(digits: text)
    }

    private init(digits: String) {
        var bytes = SIMD32<UInt8>()
        for (index, digit) in digits.utf8.enumerated() { bytes[index] = digit }
        (self.digits, self.count) = (bytes, digits.utf8.count)
    }

    package var description: String {
        self.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes(of: self.digits) {
            body(UnsafeRawBufferPointer(rebasing: $0[..<self.count]))
        }
    }

    /// A new one.
    package static func random() -> Epoch {
        Epoch(digits: UInt32.random(in: 0...UInt32.max).digits(8, radix: 16))
    }
}

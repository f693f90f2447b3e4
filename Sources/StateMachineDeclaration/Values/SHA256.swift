import Glibc
import StateMachineCore

/// The hash that identifies declarations, the one that `sha256sum` prints: FIPS 180-4.
package enum SHA256 {
    /// In hexadecimal digits.
    static func hexadecimal(of bytes: [UInt8]) -> String {
        self.hash(of: bytes).map { $0.digits(8, radix: 16) }.joined()
    }

    /// Its 32 bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        self.hash(of: bytes).flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) }
        }
    }

    private static func hash(of bytes: [UInt8]) -> [UInt32] {
        var hash = Self.beginning
        var message = bytes + [0x80]
        message += [UInt8](repeating: 0, count: (120 - message.count % 64) % 64)
        let bits = UInt64(bytes.count) * 8
        message += (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) }
        message.withUnsafeBufferPointer { message in
            var words = [UInt32](repeating: 0, count: 64)
            words.withUnsafeMutableBufferPointer { words in
                for block in stride(from: 0, to: message.count, by: 64) {
                    Self.spread(UnsafeBufferPointer(rebasing: message[block..<block + 64]), words)
                    Self.mix(words, into: &hash)
                }
            }
        }
        return hash
    }

    private static func spread(
        _ block: UnsafeBufferPointer<UInt8>,
        _ words: UnsafeMutableBufferPointer<UInt32>
    ) {
        for index in 0..<16 {
            var word: UInt32 = 0
            for byte in block[4 * index..<4 * index + 4] { word = word << 8 | UInt32(byte) }
            words[index] = word
        }
        for index in 16..<64 {
            let (near, far) = (words[index - 2], words[index - 15])
            let small = far.turned(7) ^ far.turned(18) ^ far >> 3
            let large = near.turned(17) ^ near.turned(19) ^ near >> 10
            words[index] = words[index - 16] &+ small &+ words[index - 7] &+ large
        }
    }

    private static func mix(
        _ words: UnsafeMutableBufferPointer<UInt32>,
        into hash: inout [UInt32]
    ) {
        var (a, b, c, d) = (hash[0], hash[1], hash[2], hash[3])
        var (e, f, g, h) = (hash[4], hash[5], hash[6], hash[7])
        for index in 0..<64 {
            let choice = (e & f) ^ (~e & g)
            let sum = e.turned(6) ^ e.turned(11) ^ e.turned(25)
            let first = h &+ sum &+ choice &+ Self.constants[index] &+ words[index]
            let majority = (a & b) ^ (a & c) ^ (b & c)
            let second = (a.turned(2) ^ a.turned(13) ^ a.turned(22)) &+ majority
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { hash[index] &+= word }
    }

    /// The first 32 fractional bits of the square roots of the first eight primes.
    private static let beginning = Self.primes.prefix(8).map {
        Self.fraction(Double($0).squareRoot())
    }

    /// The same of the cube roots of all of them.
    private static let constants = Self.primes.map { Self.fraction(cbrt(Double($0))) }

    /// The first 64 primes.
    private static let primes = (2...311).filter { number in
        (2..<number).allSatisfy { number % $0 > 0 }
    }

    /// The first 32 bits behind the point.
    private static func fraction(_ number: Double) -> UInt32 {
        UInt32(truncatingIfNeeded: UInt64(number * 4_294_967_296))
    }
}

extension UInt32 {
    fileprivate func turned(_ count: UInt32) -> UInt32 { self >> count | self << (32 - count) }
}

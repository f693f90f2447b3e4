/// What one request may hold.
///
/// Everything here is part of the protocol, version 1.
package enum RequestLimits {
    /// Bytes in a request line, its newline not counted.
    package static let lineBytes = 65_536

    /// Bytes in an encoded state; one that is longer is refused when it is set.
    package static let stateBytes = 65_536

    /// Bytes of UTF-8 in a `cause` or a `why`.
    package static let causeBytes = 256

    /// Combining marks in a row, in a text of `data`.
    ///
    /// 30: what Unicode's stream-safe text (UAX #15) allows, far beyond any writing.
    package static let marks = 30

    /// JSON values in a request, those inside others counted.
    ///
    /// 2048: far beyond any state, and few enough that reading them takes less than 2 ms, in which nobody
    /// else is served.
    package static let values = 2048

    /// Words in a request that is no object.
    ///
    /// 128: more than anybody types, and than an operation takes.
    package static let words = 128

    /// Fields of a state that a pattern in one word, or a `set` in words, may name.
    ///
    /// 64: more than any case of an enum has.
    package static let fields = 64

    /// Patterns in one list: every change is held against each of them, for every reader.
    ///
    /// 32: more than anybody writes by hand, and few enough that the readers of one user cannot slow
    /// the others down. Not tuned.
    package static let patterns = 32

    /// Milliseconds that a hold may delay, and that a guard may take.
    package static let voteMs: UInt64 = 60_000

    /// Milliseconds of silence that a watch may ask to be broken.
    package static let leastBeatMs: UInt64 = 100

    /// Milliseconds that they have if they do not say.
    package static let defaultVoteMs: UInt64 = 1000

    /// Changes in one answer to `history`.
    package static let historyChanges: UInt64 = 10_000

    /// Changes in it if the client does not say.
    package static let defaultHistoryChanges: UInt64 = 1000

    /// Bytes of UTF-8 in an `id` that is a string.
    package static let idBytes = 128

    /// Bytes in what a required guard is known by.
    package static let requirementNameBytes = 64

    /// Whether a required guard may be known by that: as the instance of a unit may be named, so that it needs no
    /// quotes anywhere.
    package static func isRequirementName(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= self.requirementNameBytes else {
            return false
        }
        func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
        return isWord(first)
            && name.utf8.allSatisfy { isWord($0) || "-_.:@".utf8.contains($0) }
    }

    /// What integers stay below in size: from here on a double, which is what many JSON readers
    /// keep numbers in, skips some.
    package static let integerBound: UInt64 = 1 << 53
}

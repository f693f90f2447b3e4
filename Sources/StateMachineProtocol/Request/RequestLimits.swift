/// Limits of a single request.
///
/// Everything here is part of the protocol, version 1.
package enum RequestLimits {
    /// Bytes in a request line, not counting its newline.
    package static let lineBytes = 65_536

    /// Bytes in a line that a daemon sends, which a client's reader has to take.
    ///
    /// 16 MiB: a change with two states of 64 KiB has less than 200 KiB; a denial that names 512
    /// holds, with their reasons, had 1.6 MiB, and `describe` of a machine as large as may be 4.7.
    /// Not tuned.
    package static let serverLineBytes = 1 << 24

    /// Bytes in an encoded state; a longer one is refused when it is set.
    package static let stateBytes = 65_536

    /// Bytes of UTF-8 in a `cause` or a `why`.
    package static let causeBytes = 256

    /// Combining marks in a row, in a string in `data`.
    ///
    /// 30: what Unicode's stream-safe text (UAX #15) allows, far beyond any writing.
    package static let marks = 30

    /// JSON values in a request, nested ones included.
    ///
    /// 2048: far beyond any state, and few enough that reading them takes less than 2 ms, during
    /// which no other client is served.
    package static let values = 2048

    /// Words in a request that is no object.
    ///
    /// 128: more than anybody types, and than an operation takes.
    package static let words = 128

    /// Fields of a state that a pattern in one word, or a `set` in words, may name.
    ///
    /// 64: more than any case of an enum has.
    package static let fields = 64

    /// Patterns in one list: every change is matched against each of them, for every reader.
    ///
    /// 32: more than anybody writes by hand, and few enough that the readers of one user cannot
    /// slow the others down. Not tuned.
    package static let patterns = 32

    /// Milliseconds that a hold may delay, and that a guard may take.
    package static let voteMs: UInt64 = 60_000

    /// Milliseconds that a hold of a name may last.
    ///
    /// 400 days: from one year's end to the next, with a month to spare.
    package static let untilMs: UInt64 = 400 * 86_400_000

    /// The fewest milliseconds of silence after which a watch may request a sign of life.
    ///
    /// 100: soon enough to see whether the daemon is alive, and all watches of one user together
    /// cost the daemon some percent of its time.
    package static let leastBeatMs: UInt64 = 100

    /// Milliseconds that a hold delays and a guard may take if the request does not say.
    package static let defaultVoteMs: UInt64 = 1000

    /// Changes in one answer to `history`.
    package static let historyChanges: UInt64 = 10_000

    /// Changes in it if the client does not say.
    package static let defaultHistoryChanges: UInt64 = 1000

    /// Bytes of UTF-8 in an `id` that is a string.
    package static let idBytes = 128

    /// Bytes in the name of a required guard, or of a hold.
    package static let requirementNameBytes = 64

    /// Whether it may name a required guard or a hold: the same names as for the instance of a unit, so that
    /// it needs no quotes anywhere.
    package static func isRequirementName(_ name: String) -> Bool {
        name.utf8.count <= self.requirementNameBytes && name.utf8.first?.isLetterOrDigit == true
            && name.utf8.allSatisfy { $0.isLetterOrDigit || "-_.:@".utf8.contains($0) }
    }

    /// The bound of integers in size: from here on a double, in which many JSON readers keep
    /// numbers, skips some.
    package static let integerBound: UInt64 = 1 << 53
}

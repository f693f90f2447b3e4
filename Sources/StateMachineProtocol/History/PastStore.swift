package import StateMachineCore

/// What a machine's log has recorded, read back: a server answers from it when a reader asks for more than it has in
/// memory.
///
/// Everything may be called from any thread, and nothing waits for the disk.
package protocol PastStore: PastReading {
    /// The name of the numbering, which changes whenever that restarted or may have lost its end.
    var epoch: Epoch { get }

    /// The numberings that this one continues, each up to the last change that it has too; what came
    /// after that is lost.
    var earlier: [Cursor] { get }

    /// What the last run left.
    var beginning: Beginning { get }

    /// The oldest transition that is kept; one past the newest if there is none.
    var oldest: UInt64 { get }
}

/// What of a machine's past can be asked about, wherever it is kept.
///
/// Everything may be called from any thread, and nothing waits for the disk.
package protocol PastReading: AnyObject, Sendable {
    /// What is kept, and how safe it is, by name; shown to clients beside the limits.
    var settings: [JSONMember] { get }

    /// Reads the first few transitions that a query asks for; there may be none among those
    /// examined.
    ///
    /// How many is up to the history: as many as are good to have in memory at a time.
    ///
    /// - Parameters:
    ///   - query: what is wanted.
    ///   - done: called once, from anywhere, possibly after a while.
    func read(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    )

    /// Finds the first transition made at `time` or later; one past `newest` if there is none.
    ///
    /// Where the clock was set back in between, one of the candidates.
    ///
    /// - Parameters:
    ///   - time: the time.
    ///   - newest: the last candidate.
    ///   - done: called once, from anywhere, possibly after a while.
    func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    )

    /// Calls `handler` whenever a kind of work begins to fail, with why, and with nil when it
    /// succeeds again.
    ///
    /// There is one handler; a later one replaces it. Called from anywhere; at once for what
    /// already fails.
    func onTrouble(_ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void)
}

/// What the last run left for this one.
package struct Beginning: Sendable {
    /// The newest transition; nil if it is not known.
    package let newest: RecordedTransition?
    /// The starts of stays, which the log writes down with the changes; nil for a machine that has none.
    package let starts: StayStarts?
    /// How far linked machines were followed, which the log writes down as well; nil for a machine that has no stays.
    package let links: LinkCursors?
    /// Whether this is the first run since boot, and the last run's stay has not ended.
    package let isFirstInBoot: Bool
    /// The holds and guards, by number.
    package let voters: [KeptVoter]

    package init(
        newest: RecordedTransition? = nil,
        starts: StayStarts? = nil,
        links: LinkCursors? = nil,
        isFirstInBoot: Bool = false,
        voters: [KeptVoter] = []
    ) {
        self.newest = newest
        self.starts = starts
        self.links = links
        self.isFirstInBoot = isFirstInBoot
        self.voters = voters
    }
}

/// The work of a history, for itself or as a log, that may fail.
package enum HistoryWork: Hashable, Sendable {
    /// Writing what is to happen; nothing happens while that fails.
    case commits
    /// Removing what need not be kept; it stays while that fails.
    case pruning
    /// Keeping its disk usage within bounds; it grows while that fails.
    case tidying
    /// Writing what others have, too, as it has happened already; that alone is missing while it fails.
    case caching
}

/// Why a history could not be read, in one sentence.
package struct HistoryFailure: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    package let description: String

    /// A failure with that description.
    package init(_ description: String) {
        self.description = description
    }
}

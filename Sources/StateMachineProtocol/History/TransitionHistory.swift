package import StateMachineCore

/// A write-ahead log that can be read back: a server answers from it when a reader asks for more
/// than it has in memory.
///
/// Everything may be called from any thread, and nothing waits for the disk.
package protocol TransitionHistory: Recording {
    /// The name of the numbering, which changes whenever that restarted or may have lost its end.
    var epoch: Epoch { get }

    /// The numberings that this one continues, each up to the last change that it has too; what came
    /// after that is lost.
    var earlier: [Cursor] { get }

    /// The newest transition when it was opened; nil if it does not say.
    var newest: RecordedTransition? { get }

    /// The oldest transition that is kept; one past the newest if there is none.
    var oldest: UInt64 { get }

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

    /// Makes all that was committed as safe as can be, and notes that nothing is under way: the
    /// daemon is going down.
    ///
    /// What is committed later is as safe as ever.
    ///
    /// - Parameter done: called once, from anywhere; nil, or why it could not be done.
    func settle(done: @escaping @Sendable (_ failure: String?) -> Void)

    /// Notes the declaration of the state after `seq`, and of all that follow, until the next such
    /// note.
    ///
    /// - Parameters:
    ///   - declaration: what declares them.
    ///   - seq: the first whose state it declares.
    ///   - done: called once, from anywhere; nil, or why it is not written yet; then it is written
    ///     with the next transition.
    func note(
        _ declaration: RecordedDeclaration,
        from seq: UInt64,
        done: @escaping @Sendable (_ failure: String?) -> Void
    )

    /// The starts of stays; nil for a machine that has none.
    var starts: StayStarts? { get }

    /// Whether this is the first run since boot, and the last run's stay has not ended.
    var isFirstInBoot: Bool { get }

    /// Notes a stay's start, unless another stay has begun; a new stay's is noted with its
    /// transition.
    ///
    /// - Parameters:
    ///   - start: the newest.
    ///   - done: called once, from anywhere; nil, or why it could not be done.
    func keep(_ start: StayStart, done: @escaping @Sendable (_ failure: String?) -> Void)

    /// The holds and guards that the last run left, by number.
    var voters: [KeptVoter] { get }

    /// Records changes to holds and guards, all or none.
    ///
    /// - Parameters:
    ///   - changes: what to record, under the number: the hold or guard as it is now, or nil if it
    ///     has ended.
    ///   - done: called once, from anywhere; nil, or why it failed.
    func keep(
        _ changes: [(number: UInt64, voter: KeptVoter?)],
        done: @escaping @Sendable (_ failure: String?) -> Void
    )

    /// Calls `handler` whenever a kind of work begins to fail, with why, and with nil when it
    /// succeeds again.
    ///
    /// There is one handler; a later one replaces it. Called from anywhere; at once for what
    /// already fails.
    func onTrouble(_ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void)
}

/// The work of a history, for itself or as a log, that may fail.
package enum HistoryWork: Hashable, Sendable {
    /// Writing what is to happen; nothing happens while that fails.
    case commits
    /// Removing what need not be kept; it stays while that fails.
    case pruning
    /// Keeping its disk usage within bounds; it grows while that fails.
    case tidying
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

extension Machine {
    /// The write-ahead log, if it can be read back.
    package var history: (any TransitionHistory)? { self.log as? any TransitionHistory }
}

package import StateMachineCore

/// A write-ahead log that can be read again: what a server answers from when a reader asks for more
/// than it has in memory.
///
/// Everything may be called from any thread, and nothing waits for the disk.
package protocol TransitionHistory<State>: WriteAheadLog {
    /// The name of the numbering: one to 32 digits or lower-case letters from `a` to `f`.
    ///
    /// It is another one whenever the numbering began again or may have lost its end.
    var epoch: String { get }

    /// The oldest transition that is kept; one past the newest if none is.
    var oldest: UInt64 { get }

    /// What is kept, and how safe it is, by name; shown to clients beside the limits.
    var terms: [(name: String, value: HistoryTerm)] { get }

    /// Reads the next few transitions after `seq`, in order, without a gap among them.
    ///
    /// As many as the history finds good to have in memory at a time. The first one is not `seq` + 1 if
    /// that is not kept any more; there is none if nothing newer is committed.
    ///
    /// - Parameters:
    ///   - seq: the transition before the first that is wanted.
    ///   - done: called once, from anywhere, and may take its time.
    func read(
        after seq: UInt64,
        done: @escaping @Sendable (Result<[RecordedTransition], HistoryFailure>) -> Void
    )

    /// Reads the first few transitions that a query asks for; there may be none among those that it has looked at.
    ///
    /// A history that need not look at all of them has this; else ``read(after:done:)`` is asked.
    ///
    /// - Parameters:
    ///   - query: its `before` is at most one past the newest transition.
    ///   - done: called once, from anywhere, and may take its time.
    func find(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    )

    /// Finds the first transition that was made at a time or later, one past `newest` if none was.
    ///
    /// Where the clock was set back in between, one of those that come into question. A history that need not
    /// read whole transitions for that has this; else ``read(after:done:)`` is asked.
    ///
    /// - Parameters:
    ///   - time: the time.
    ///   - newest: the last transition that comes into question.
    ///   - done: called once, from anywhere, and may take its time.
    func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    )

    /// Reads an outline of the first few transitions between a query's ends, the oldest first and without a gap among
    /// them.
    ///
    /// What else the query says is of no account. A history that need not read whole transitions for that has this;
    /// else ``find(_:done:)`` is asked.
    ///
    /// - Parameters:
    ///   - query: its `before` is at most one past the newest transition.
    ///   - limit: how many at most.
    ///   - done: called once, from anywhere, and may take its time.
    func outline(
        _ query: TransitionQuery,
        limit: Int,
        done: @escaping @Sendable (Result<TransitionOutline, HistoryFailure>) -> Void
    )

    /// Makes all that was committed as safe as can be, and notes that nothing is under way: the
    /// daemon is going down.
    ///
    /// What is committed later is as safe as ever.
    ///
    /// - Parameter done: called once, from anywhere; nil, or why it could not be done.
    func settle(done: @escaping @Sendable (_ failure: String?) -> Void)

    /// Notes what declares the state after `seq`, and all that follow, until the next such note.
    ///
    /// A history that has no use for it need not have this.
    ///
    /// - Parameters:
    ///   - declaration: what declares them.
    ///   - seq: the first whose state it declares.
    ///   - done: called once, from anywhere; nil, or why it is not written yet: it is written with the next
    ///     transition then.
    func note(
        _ declaration: RecordedDeclaration,
        from seq: UInt64,
        done: @escaping @Sendable (_ failure: String?) -> Void
    )

    /// Has `handler` told whenever a kind of work begins to fail, why, and nil when it succeeds again.
    ///
    /// There is one; a later one replaces it. Called from anywhere; of what fails already at once.
    func onTrouble(
        _ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void
    )
}

extension TransitionHistory {
    /// Nothing.
    package func note(
        _ declaration: RecordedDeclaration,
        from seq: UInt64,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        done(nil)
    }
}

/// What a history does of its own accord or as a log, and may fail to do.
package enum HistoryWork: Hashable, Sendable {
    /// Writing what is to happen; nothing happens while that fails.
    case commits
    /// Removing what need not be kept; it stays while that fails.
    case pruning
    /// Keeping what it takes on the disk within bounds; it grows while that fails.
    case tidying
}

/// A number or a word among a history's terms.
package enum HistoryTerm: Hashable, Sendable {
    /// So many.
    case count(Int)
    /// One of several ways.
    case word(String)
}

/// Why a history could not be read, in one sentence.
package struct HistoryFailure: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    package let description: String

    /// A failure that is described so.
    package init(_ description: String) {
        self.description = description
    }
}

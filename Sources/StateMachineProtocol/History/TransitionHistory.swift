package import StateMachineCore

/// A write-ahead log that can be read back: a server answers from it when a reader asks for more
/// than it has in memory.
///
/// Everything may be called from any thread, and nothing waits for the disk.
package protocol TransitionHistory: Recording {
    /// The name of the numbering: one to 32 digits or lower-case letters from `a` to `f`.
    ///
    /// It changes whenever the numbering restarted or may have lost its end.
    var epoch: String { get }

    /// The numberings that this one continues; none by default.
    var earlier: [EarlierNumbering] { get }

    /// The oldest transition that is kept; one past the newest if there is none.
    var oldest: UInt64 { get }

    /// What is kept, and how safe it is, by name; shown to clients beside the limits.
    var settings: [(name: String, value: HistorySetting)] { get }

    /// Reads the next few transitions after `seq`, in order, without a gap among them.
    ///
    /// How many is up to the history: as many as are good to have in memory at a time. The first
    /// one is not `seq` + 1 if that is no longer kept; there is none if nothing newer is committed.
    ///
    /// - Parameters:
    ///   - seq: the transition before the first that is wanted.
    ///   - done: called once, from anywhere, possibly after a while.
    func read(
        after seq: UInt64,
        done: @escaping @Sendable (Result<[RecordedTransition], HistoryFailure>) -> Void
    )

    /// Reads the first few transitions that a query asks for; there may be none among those
    /// examined.
    ///
    /// Implemented by a history that need not examine all of them; the default uses
    /// ``read(after:done:)``.
    ///
    /// - Parameters:
    ///   - query: its `before` is at most one past the newest transition.
    ///   - done: called once, from anywhere, possibly after a while.
    func find(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    )

    /// Finds the first transition made at `time` or later; one past `newest` if there is none.
    ///
    /// Where the clock was set back in between, one of the candidates. Implemented by a history
    /// that need not read whole transitions for it; the default uses ``read(after:done:)``.
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

    /// Reads an outline of the first few transitions between a query's ends, oldest first and
    /// without a gap among them.
    ///
    /// The rest of the query is ignored. Implemented by a history that need not read whole
    /// transitions for it; the default uses ``find(_:done:)``.
    ///
    /// - Parameters:
    ///   - query: its `before` is at most one past the newest transition.
    ///   - limit: how many at most.
    ///   - done: called once, from anywhere, possibly after a while.
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

    /// Notes the declaration of the state after `seq`, and of all that follow, until the next such
    /// note.
    ///
    /// Optional; the default does nothing.
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

    /// Calls `handler` whenever a kind of work begins to fail, with why, and with nil when it
    /// succeeds again.
    ///
    /// There is one handler; a later one replaces it. Called from anywhere; at once for what
    /// already fails.
    func onTrouble(
        _ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void
    )
}

extension TransitionHistory {
    /// None.
    package var earlier: [EarlierNumbering] { [] }

    /// Does nothing.
    package func note(
        _ declaration: RecordedDeclaration,
        from seq: UInt64,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        done(nil)
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
}

/// A number or a word among a history's settings.
package enum HistorySetting: Hashable, Sendable {
    /// A number.
    case count(Int)
    /// One of several words.
    case word(String)
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

extension TransitionHistory {
    /// Reads the first few transitions that a query asks for; there may be none among those
    /// examined.
    ///
    /// It filters what ``read(after:done:)`` returns; a history with a search of its own uses that.
    package func find(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        let isNewestFirst = query.isNewestFirst
        // 256: less than one read returns, and little to search for a client that wants the newest.
        let start =
            isNewestFirst && query.before > query.after + 257 ? query.before - 257 : query.after
        self.collect([], after: start, until: isNewestFirst ? query.before : nil) { result in
            done(result.map { Self.finding(in: $0, query, after: start) })
        }
    }

    /// Reads an outline of the first few transitions between a query's ends, from what
    /// ``find(_:done:)`` returns.
    package func outline(
        _ query: TransitionQuery,
        limit: Int,
        done: @escaping @Sendable (Result<TransitionOutline, HistoryFailure>) -> Void
    ) {
        let span = query.before - query.after > UInt64(limit) ? UInt64(limit) + 1 : .max
        let before = span == .max ? query.before : query.after + span
        let plain = TransitionQuery(after: query.after, before: before)
        self.find(plain) { result in
            done(result.map { TransitionOutline($0, of: plain) })
        }
    }

    /// Reads what follows `seq`: once, or up to a transition.
    private func collect(
        _ earlier: [RecordedTransition],
        after seq: UInt64,
        until end: UInt64?,
        done: @escaping @Sendable (Result<[RecordedTransition], HistoryFailure>) -> Void
    ) {
        self.read(after: seq) { result in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(let next):
                let all = earlier + next
                guard let end, let last = next.last?.seq, last + 1 < end else {
                    return done(.success(all))
                }
                self.collect(all, after: last, until: end, done: done)
            }
        }
    }

    private static func finding(
        in transitions: [RecordedTransition],
        _ query: TransitionQuery,
        after start: UInt64
    ) -> TransitionFinding {
        let between = transitions.filter { $0.seq > start && $0.seq < query.before }
        let isAtEnd = query.isNewestFirst || between.count < transitions.count || between.isEmpty
        let last = isAtEnd ? query.before - 1 : between.last?.seq ?? query.before - 1
        let wanted = between.filter(query.wants)
        return TransitionFinding(
            query.isNewestFirst ? wanted.reversed() : wanted,
            examined: query.isNewestFirst ? start + 1 : last,
            hasGap: UInt64(between.count) < last - start
        )
    }

    /// Finds the first recorded transition made at `time` or later; one past `newest` if there is
    /// none.
    ///
    /// A binary search: where the clock was set back in between, there may be earlier ones.
    package func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        self.locate(time, between: max(1, self.oldest), and: newest, done: done)
    }

    private func locate(
        _ time: WallTime,
        between first: UInt64,
        and last: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        guard first <= last else { return done(.success(first)) }
        let middle = first + (last - first) / 2
        self.read(after: middle - 1) { result in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(let transitions):
                if let found = transitions.first, found.seq <= last, found.at < time {
                    self.locate(time, between: found.seq + 1, and: last, done: done)
                } else {
                    self.locate(time, between: first, and: middle - 1, done: done)
                }
            }
        }
    }
}

extension Machine {
    /// The write-ahead log, if it can be read back.
    package var history: (any TransitionHistory)? { self.log as? any TransitionHistory }
}

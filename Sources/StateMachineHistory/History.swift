package import StateMachineCore
package import StateMachineProtocol

/// A machine's past in an SQLite database; see ``SQLiteHistory``.
///
/// It is written on one thread, where groups are committed one after the other and old rows are
/// removed in small steps in between, and read on another, which gives way to it.
///
/// `@unchecked Sendable`: `writer` and `spin` are touched on the disk's thread only; the rest does not change.
package final class History: Recording, PastStore, @unchecked Sendable {
    private let opening: HistoryOpening
    private let disk: HistoryDisk

    private var writer: HistoryWriter
    private var spin = AdaptiveSpin()

    /// Opens it for the boot of that ID, with days of that many seconds.
    ///
    /// `timeout`: how long to wait for another program that has locked the database. 2 s:
    /// longer than any interactive query, and a set is answered within it. Not tuned.
    ///
    /// `longLog`: how many bytes the write-ahead log may have before that is reported. 64 MiB:
    /// sixteen times its length if nobody else reads for long. Not tuned.
    package init(
        directory path: String,
        schema: Schema,
        options: HistoryOptions,
        boot: String?,
        clock: any StayClock = KernelClock(),
        day: Double = 86_400,
        timeout: Duration = .seconds(2),
        longLog: Int = 64 << 20
    ) throws {
        if let problem = schema.problems.first { throw HistoryError(problem) }
        let opening = try HistoryOpening(
            in: path,
            schema: schema,
            options: options,
            boot: boot,
            clock: clock,
            timeout: timeout
        )
        self.opening = opening
        self.writer = HistoryWriter(opening, schema)
        // Only now: nobody would stop the threads of a history that could not be opened.
        self.disk = HistoryDisk(
            opening.database,
            oldest: opening.oldest,
            newest: opening.newest.seq,
            at: opening.newest.at,
            trouble: opening.trouble.map { (.commits, $0) },
            options,
            day: day,
            longLog: longLog
        )
    }

    /// How safe it is, and how far it goes back.
    package var options: HistoryOptions { self.disk.options }

    // MARK: - The last run

    /// Where the machine was when the last run ended; its initial state if there was none.
    package var place: Place {
        let newest = self.opening.newest
        return Place(
            seq: newest.seq,
            value: self.opening.value,
            at: newest.at,
            stay: newest.stay ?? newest.seq
        )
    }

    /// The name of the numbering; see `PastReading`.
    package var epoch: Epoch { self.opening.epoch }
    package var earlier: [Cursor] { self.opening.earlier }

    /// What the last run left.
    package var beginning: Beginning {
        Beginning(
            newest: self.opening.newest,
            starts: self.opening.starts,
            links: self.opening.links,
            isFirstInBoot: self.opening.isFirstInBoot,
            voters: self.opening.voters
        )
    }

    /// The part of its past that it did not find, so that it or its numbering began anew; nil if
    /// none.
    package var loss: HistoryLoss? { self.opening.loss }

    /// The change made on opening, since the states look different from those of the last run; nil
    /// if there was none.
    package var carriedOver: RecordedTransition? { self.opening.carriedOver }

    // MARK: - The write-ahead log

    /// Whether the calling code runs where groups are committed.
    package var isCurrent: Bool { self.disk.thread.isCurrent ?? false }

    /// Nobody else moves the machine.
    package var confirms: Bool { false }

    /// Commits the group in one transaction; see `Recording`.
    package func record(_ group: [Record], done: @escaping @Sendable (Recorded) -> Void) {
        self.disk.thread.enqueue {
            let outcome = self.writer.append(group)
            self.disk.note(outcome.failure, of: .commits)
            done(outcome)
            self.disk.wrote(newest: self.writer.newest)
            // A client that waits for the answer to a single set often sends the next one.
            if group.count == 1 { self.disk.thread.linger(&self.spin) }
        }
    }

    /// Gets everything onto the disk; see `Recording`.
    package func settle(done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.disk.settle(in: self.epoch, done: done)
    }

    /// Calls `handler` when work begins to fail and when it succeeds again, on the commits' thread.
    package func onTrouble(
        _ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void
    ) {
        self.disk.onTrouble(handler)
    }

    // MARK: - The past

    /// The oldest transition that is kept; one past the newest if there is none.
    package var oldest: UInt64 { self.disk.oldest }

    /// `keepChanges`, `keepDays`, `keepBytes` and `durability`.
    package var settings: [JSONMember] { self.disk.settings }

    /// Reads the first few transitions that a query asks for; see `PastReading`.
    package func read(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        self.disk.read(query, done: done)
    }

    /// Finds the first transition from a time on; see `PastReading`.
    package func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        self.disk.locate(time, upTo: newest, done: done)
    }
}

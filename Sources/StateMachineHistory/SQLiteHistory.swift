public import StateMachineCore
import StateMachineProtocol

/// A machine's past in an SQLite database, which is also its write-ahead log: one row per
/// transition.
///
/// Groups are committed one after the other on a thread of its own; reading happens on another one and
/// keeps no commit waiting. Old rows are removed in small steps between commits.
public final class SQLiteHistory<State: EnumState>: RecordingLog {
    /// What does all of this, for states of any type.
    package let history: History

    /// Where the machine was when the last run ended; its initial state if there was none.
    public var snapshot: Snapshot<State> { Snapshot(self.history.place) }

    /// The name of the numbering; see `PastStore`.
    public var epoch: String { self.history.epoch.description }

    /// The part of its past that it did not find, so that it or its numbering began anew; nil if
    /// none.
    public var loss: HistoryLoss? { self.history.loss }

    /// How safe it is, and how far it goes back.
    public var options: HistoryOptions { self.history.options }

    package var recording: any Recording { self.history }

    /// Opens the history in a directory, which is created, for its owner only, if it does not
    /// exist.
    ///
    /// A database that cannot be read is renamed, and the history begins anew under a new epoch, as
    /// it does if the database is gone; ``loss`` says so. If the disk accepts no writes it opens
    /// all the same, and commits fail until it does.
    ///
    /// - Parameters:
    ///   - directory: may hold only one history at a time.
    ///   - options: how safe it is, and how far it goes back.
    /// - Throws: ``HistoryError``.
    public convenience init(directory: String, options: HistoryOptions = HistoryOptions()) throws {
        self.init(
            try History(
                directory: directory,
                schema: StateCoding<State>().schema,
                options: options,
                boot: BootID.current
            )
        )
    }

    /// The typed face of that history.
    package init(_ history: History) { self.history = history }

    /// A machine that goes on where the last run ended, and keeps its transitions here.
    ///
    /// - Parameter options: the machine's options; its log is always this history.
    /// - Returns: the machine; a history has one.
    public func makeMachine(
        options: StateMachine<State>.Options = StateMachine<State>.Options()
    ) -> StateMachine<State> {
        var options = options
        options.log = self
        return StateMachine(resuming: self.snapshot, options: options)
    }

    /// Whether the calling code runs where groups are committed.
    public var isCurrent: Bool { self.history.isCurrent }

    /// Commits the group in one transaction; see `WriteAheadLog`.
    public func commit(
        _ group: [Transition<State>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.history.record(group.map { .change($0.change) }) { done($0.failure) }
    }
}

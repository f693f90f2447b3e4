/// How safe a history is, and how far back it goes.
public struct HistoryOptions: Hashable, Sendable {
    /// What a committed transition survives.
    public enum Durability: String, CaseIterable, Sendable {
        /// The death of the process, by `SIGKILL` for one.
        ///
        /// A crash of the machine may take the last transitions along; then the epoch is a new one.
        case commit
        /// A crash of the machine and the loss of power too: every group is on the disk.
        case disk
    }

    /// What a committed transition survives.
    public var durability = Durability.commit

    /// Transitions that are kept; some more may be there for a while.
    public var keepChanges = 1_000_000

    /// Days for which a transition is kept, and up to a day more; the newest one stays.
    ///
    /// If the wall's clock has gone on by more than a week since the newest transition was made, or since it
    /// was last looked at, it is not believed until a day later: nothing is removed for its age before.
    public var keepDays = 30

    /// A million transitions of the last thirty days, which survive the process.
    public init() {}
}

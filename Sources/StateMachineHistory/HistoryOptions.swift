/// How safe a history is, and how far back it goes.
public struct HistoryOptions: Hashable, Sendable {
    /// What a committed transition survives.
    public enum Durability: String, CaseIterable, Sendable {
        /// The death of the process, for example by `SIGKILL`.
        ///
        /// A crash of the machine, or a loss of power, may lose the last transitions; then the epoch is a new one.
        case commit
        /// Also a crash of the machine and loss of power: every group is on the disk.
        case disk
    }

    /// What a committed transition survives.
    public var durability = Durability.disk

    /// How many transitions are kept; there may be some more for a while.
    public var keepChanges = 1_000_000

    /// Days for which a transition is kept, and up to a day more; the newest one stays.
    ///
    /// If the wall clock has advanced by more than a week since the newest transition was made, or
    /// since it was last checked, it is not trusted until a day later: until then nothing is
    /// removed for its age.
    public var keepDays = 30

    /// What the transitions that are kept may take in the database, in bytes; the newest one stays.
    ///
    /// The file is a little longer for a while, and does not become shorter.
    public var keepBytes = 1 << 30

    /// A million transitions of the last thirty days in at most a gibibyte, which survive a loss of power.
    public init() {}
}

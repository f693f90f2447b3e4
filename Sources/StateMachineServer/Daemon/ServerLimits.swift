import StateMachineProtocol

/// What the server allows its clients beside `RequestLimits`; as it stands, the protocol's defaults.
public struct ServerLimits: Hashable, Sendable {
    /// Changes kept for readers that fall behind.
    ///
    /// 4096: at ten changes a second, the last seven minutes. Not tuned.
    public var ringChanges = 4096

    /// Bytes of encoded changes kept for them.
    public var ringBytes = 4 << 20

    /// Connections at a time, of both doors.
    public var connections = 512

    /// How many of them only root and the daemon's own user may take.
    public var connectionsInReserve = 16

    /// How many of them only clients at the control door may take, but not more than half of them: readers
    /// do not keep those out who change something.
    ///
    /// 16: as many as are in reserve for root, for the same reason. Not tuned.
    public var connectionsForControl = 16

    /// Connections at a time of any other user.
    public var connectionsPerUid = 64

    /// Connections a second of any other user; past it one waits for its time, and is turned away if that
    /// is more than two seconds off.
    public var acceptsPerSecond = 200

    /// How many of them may come at once.
    public var acceptBurst = 100

    /// Watches that one connection may have.
    public var watchesPerConnection = 8

    /// Waits that one connection may have.
    public var waitsPerConnection = 32

    /// Patterns of one user's waits of which one takes states away: every change is held against each of them.
    ///
    /// 128: some two microseconds, less than half of what a set takes. Not tuned.
    static let exceptingPatternsPerUid = 128

    /// Holds that one connection may have.
    public var holdsPerConnection = 8

    /// Guards that one connection may have.
    public var guardsPerConnection = 8

    /// Bytes of the requests that a connection's watches, waits, holds and guards are kept with, for the
    /// next process.
    ///
    /// 128 KiB: two of the longest, or 2 KiB for each that it may have. Not tuned.
    public var requestBytesPerConnection = 128 << 10

    /// The same of all connections of any user but root and the daemon's own.
    ///
    /// 1 MiB: 16 KiB for each connection. Not tuned.
    public var requestBytesPerUid = 1 << 20

    /// Replies that may be waiting for a client to read them; past it the client is not read.
    public var repliesInFlight = 32

    /// Bytes that may be waiting for it to read them, beside what its socket holds; past it the client is
    /// not read, so one reply may go beyond.
    ///
    /// 64 KiB: the longest state. Not tuned.
    public var replyBytesPerConnection = 64 << 10

    /// The same for all clients of any user but root and the daemon's own; past it those that have any
    /// are not read.
    ///
    /// 1 MiB: 16 KiB for each connection. Not tuned.
    public var replyBytesPerUid = 1 << 20

    /// Sets of one connection that may be undecided; past it the client is not read.
    ///
    /// 256: so many can share one commit with nobody else about. Not tuned.
    public var setsPerConnection = 256

    /// Undecided sets of all connections; past it no client that has one is read.
    ///
    /// 2048: twice what is committed at a time, and with one more for each of the other connections
    /// well below what a machine lets wait. Not tuned.
    public var undecidedSets = 2048

    /// Holds, and as many guards, that `stats` names.
    ///
    /// 64: more than people read; the rest is counted.
    static let votersShown = 64

    /// Bytes of patterns that it shows of one of them.
    ///
    /// 1024: some twenty; so an answer has 128 KiB of them at most.
    static let patternBytesShown = 1024

    /// Guards that are required at a time, and those of any user but root and the daemon's own.
    ///
    /// 64 and 16: a guard stands for a part of the system that has a say, of which there are few; and each is
    /// asked about every change.
    static let requiredGuards = 64
    static let requiredGuardsPerUid = 16

    /// How soon a client may come back after a restart, in milliseconds.
    ///
    /// 200: what the unit waits before it starts the daemon anew (`RestartSec=`).
    static let retryMs = 200

    /// Transitions of a second that are logged one by one; what is more is one line.
    ///
    /// 20: more than anybody reads, and a twentieth of what the journal takes of a service before it leaves
    /// out the rest (`RateLimitBurst=` in journald.conf(5)). Not tuned.
    public var transitionsLoggedPerSecond = 20

    /// How long a client that is told to go may take to read that, in milliseconds.
    ///
    /// A second: any reader that is awake has read it by then. Picked, not tuned.
    var farewellMs: Int64 = 1000

    /// The protocol's defaults.
    public init() {}

    /// The limits as `describe` shows them, those that are not to be set included.
    var all: [(name: String, value: Int)] {
        [
            ("lineBytes", RequestLimits.lineBytes),
            ("stateBytes", RequestLimits.stateBytes),
            ("causeBytes", RequestLimits.causeBytes),
            ("idBytes", RequestLimits.idBytes),
            ("patterns", RequestLimits.patterns),
            ("voteMs", Int(RequestLimits.voteMs)),
            ("beatMs", Int(Self.beatMs)),
            ("historyChanges", Int(RequestLimits.historyChanges)),
            ("ringChanges", self.ringChanges),
            ("ringBytes", self.ringBytes),
            ("connections", self.connections),
            ("connectionsInReserve", self.connectionsInReserve),
            ("connectionsForControl", self.connectionsForControl),
            ("connectionsPerUid", self.connectionsPerUid),
            ("acceptsPerSecond", self.acceptsPerSecond),
            ("acceptBurst", self.acceptBurst),
            ("watchesPerConnection", self.watchesPerConnection),
            ("waitsPerConnection", self.waitsPerConnection),
            ("exceptingPatternsPerUid", Self.exceptingPatternsPerUid),
            ("holdsPerConnection", self.holdsPerConnection),
            ("guardsPerConnection", self.guardsPerConnection),
            ("requiredGuards", Self.requiredGuards),
            ("requiredGuardsPerUid", Self.requiredGuardsPerUid),
            ("requestBytesPerConnection", self.requestBytesPerConnection),
            ("requestBytesPerUid", self.requestBytesPerUid),
            ("repliesInFlight", self.repliesInFlight),
            ("replyBytesPerConnection", self.replyBytesPerConnection),
            ("replyBytesPerUid", self.replyBytesPerUid),
            ("setsPerConnection", self.setsPerConnection),
            ("undecidedSets", self.undecidedSets),
        ]
    }
}

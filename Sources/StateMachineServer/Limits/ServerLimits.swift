import StateMachineProtocol

/// What the server allows its clients besides `RequestLimits`, by default as in the protocol.
public struct ServerLimits: Hashable, Sendable {
    /// Changes kept for readers that fall behind.
    ///
    /// 4096: at ten changes a second, the last seven minutes. Not tuned.
    public var ringChanges = 4096

    /// Bytes of encoded changes kept for them.
    public var ringBytes = 4 << 20

    /// Connections at a time, of both doors together.
    public var connections = 512

    /// How many of them only root and the daemon's own user may take.
    public var connectionsInReserve = 16

    /// How many of them only clients at the control door may take, but at most half of them.
    ///
    /// So readers do not keep out those who change something. 16: as many as are in reserve for
    /// root, for the same reason. Not tuned.
    public var connectionsForControl = 16

    /// Connections at a time of any other user.
    public var connectionsPerUid = 64

    /// Connections a second of any other user.
    ///
    /// Beyond that a connection waits for its time, and is turned away if that is more than two
    /// seconds off.
    public var acceptsPerSecond = 200

    /// How many of them may come at once.
    public var acceptBurst = 100

    /// Watches that one connection may have.
    public var watchesPerConnection = 8

    /// Waits that one connection may have.
    public var waitsPerConnection = 32

    /// Patterns of one user's waits with exceptions, and of its holds and guards that are matched with states that they do
    /// not cover.
    ///
    /// 128: eight users' take 0.1 ms of whoever sets.
    static let exceptingPatternsPerUid = 128

    /// Holds that one connection may have.
    public var holdsPerConnection = 8

    /// Guards that one connection may have.
    public var guardsPerConnection = 8

    /// Bytes of one connection's requests that are kept for the next process.
    ///
    /// These are the requests for its watches, waits, holds and guards. 128 KiB: two of the
    /// longest, or 2 KiB for each that it may have. Not tuned.
    public var requestBytesPerConnection = 128 << 10

    /// The same for all connections of any user except root and the daemon's own.
    ///
    /// 1 MiB: 16 KiB for each connection. Not tuned.
    public var requestBytesPerUid = 1 << 20

    /// Replies that may be waiting for a client to read them; beyond that the client is not read.
    public var repliesInFlight = 32

    /// Bytes that may be waiting for a client to read them, besides what its socket holds.
    ///
    /// Beyond that the client is not read, so one reply may go over. 64 KiB: the longest state. Not
    /// tuned.
    public var replyBytesPerConnection = 64 << 10

    /// The same for all clients of any user except root and the daemon's own.
    ///
    /// Beyond that, clients with unread bytes are not read. 1 MiB: 16 KiB for each connection. Not
    /// tuned.
    public var replyBytesPerUid = 1 << 20

    /// Sets of one connection that may be undecided; beyond that the client is not read.
    ///
    /// 256: as many as can share one commit if no other client sets. Not tuned.
    public var setsPerConnection = 256

    /// Undecided sets of all connections; beyond that no client that has one is read.
    ///
    /// 2048: twice what is committed at a time, and with one more for each of the other connections
    /// well below what a machine lets wait. Not tuned.
    public var undecidedSets = 2048

    /// Holds, and as many guards, that `stats` lists.
    ///
    /// 64: more than people read; the rest are counted.
    static let votersShown = 64

    /// Bytes of patterns that `stats` shows of each of them.
    ///
    /// 1024: some twenty patterns, so an answer has at most 128 KiB of them.
    static let patternBytesShown = 1024

    /// Required guards and holds of a name at a time; how many of them only root and the daemon's
    /// own user may have, and those of any other user.
    ///
    /// 64, and 16 each: a guard stands for a part of the system that has a say, and there are few
    /// of those; and each is asked about every change. Four users leave root as many as each has.
    static let requiredGuards = 64
    static let requiredGuardsInReserve = 16
    static let requiredGuardsPerUid = 16

    /// How long clients have, after an end of the daemon, to take again what is theirs, in
    /// milliseconds.
    ///
    /// 10,000: a client that lost its connection tries again after five seconds at most.
    package var graceMs = 10_000

    /// How soon a client may come back after a restart, in milliseconds.
    ///
    /// 200: what the unit waits before it starts the daemon anew (`RestartSec=`).
    static let retryMs = 200

    /// The same if the daemon does not start until somebody changes how it is set up.
    ///
    /// 5000: each client that comes back starts the service, and our own clients believe no more.
    static let refusedRetryMs = 5000

    /// Transitions a second that are logged one by one; the rest share one line.
    ///
    /// 20: more than anybody reads, and a twentieth of what the journal accepts from a service
    /// before it drops the rest (`RateLimitBurst=` in journald.conf(5)). Not tuned.
    public var transitionsLoggedPerSecond = 20

    /// How long a client that is told to go may take to read that line, in milliseconds.
    ///
    /// A second: any reader that is awake has read it by then. Picked, not tuned.
    var farewellMs: Int64 = 1000

    /// The protocol's defaults.
    public init() {}

    /// These, with no more connections than that.
    func fitting(connections most: Int) -> ServerLimits {
        var limits = self
        limits.connections = min(self.connections, most)
        return limits
    }

    /// The limits as `describe` shows them, including those that cannot be set.
    var all: [(name: String, value: Int)] {
        [
            ("lineBytes", RequestLimits.lineBytes),
            ("serverLineBytes", RequestLimits.serverLineBytes),
            ("stateBytes", RequestLimits.stateBytes),
            ("causeBytes", RequestLimits.causeBytes),
            ("idBytes", RequestLimits.idBytes),
            ("patterns", RequestLimits.patterns),
            ("voteMs", Int(RequestLimits.voteMs)),
            ("beatMs", Int(RequestLimits.leastBeatMs)),
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
            ("requiredGuardsInReserve", Self.requiredGuardsInReserve),
            ("requiredGuardsPerUid", Self.requiredGuardsPerUid),
            ("graceMs", self.graceMs),
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

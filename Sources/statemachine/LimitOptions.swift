import ArgumentParser
import StateMachineServer

/// The limits that can be set on the command line; `describe` shows all of them as they are.
struct LimitOptions: ParsableArguments {
    @Option(help: "Connections at a time.")
    var maxConnections = ServerLimits().connections

    @Option(help: "How many of them only root and the daemon's own user may take.")
    var reservedConnections = ServerLimits().connectionsInReserve

    @Option(help: "Connections at a time of any other user.")
    var maxConnectionsPerUid = ServerLimits().connectionsPerUid

    @Option(help: "Connections a second of any other user; past it an accept waits.")
    var acceptRate = ServerLimits().acceptsPerSecond

    @Option(help: "How many of them may come at once.")
    var acceptBurst = ServerLimits().acceptBurst

    @Option(help: "Watches of a connection.")
    var maxWatches = ServerLimits().watchesPerConnection

    @Option(help: "Waits of a connection.")
    var maxWaits = ServerLimits().waitsPerConnection

    @Option(help: "Holds of a connection.")
    var maxHolds = ServerLimits().holdsPerConnection

    @Option(help: "Guards of a connection.")
    var maxGuards = ServerLimits().guardsPerConnection

    @Option(help: "Replies that may wait for a client; past it the client is not read.")
    var maxReplies = ServerLimits().repliesInFlight

    @Option(help: "Changes kept for readers that fall behind.")
    var ringChanges = ServerLimits().ringChanges

    @Option(help: "Bytes of encoded changes kept for them.")
    var ringBytes = ServerLimits().ringBytes

    var limits: ServerLimits {
        var limits = ServerLimits()
        limits.connections = self.maxConnections
        limits.connectionsInReserve = self.reservedConnections
        limits.connectionsPerUid = self.maxConnectionsPerUid
        limits.acceptsPerSecond = self.acceptRate
        limits.acceptBurst = self.acceptBurst
        limits.watchesPerConnection = self.maxWatches
        limits.waitsPerConnection = self.maxWaits
        limits.holdsPerConnection = self.maxHolds
        limits.guardsPerConnection = self.maxGuards
        limits.repliesInFlight = self.maxReplies
        limits.ringChanges = self.ringChanges
        limits.ringBytes = self.ringBytes
        return limits
    }

    func validate() throws {
        let least: [(flag: String, value: Int, least: Int)] = [
            ("--max-connections", self.maxConnections, 1),
            ("--reserved-connections", self.reservedConnections, 0),
            ("--max-connections-per-uid", self.maxConnectionsPerUid, 0),
            ("--accept-rate", self.acceptRate, 1),
            ("--accept-burst", self.acceptBurst, 1),
            ("--max-watches", self.maxWatches, 1),
            ("--max-waits", self.maxWaits, 0),
            ("--max-holds", self.maxHolds, 0),
            ("--max-guards", self.maxGuards, 0),
            ("--max-replies", self.maxReplies, 1),
            ("--ring-changes", self.ringChanges, 1),
            ("--ring-bytes", self.ringBytes, 4096),
        ]
        for (flag, value, least) in least where value < least {
            throw ValidationError("\(flag) must be at least \(least), not \(value)")
        }
    }
}

import ArgumentParser

/// The limits that can be set on the command line; `describe` shows all of them as they are.
package struct LimitOptions: ParsableArguments {
    @Option(.maxConnections) var maxConnections: Int?
    @Option(.reservedConnections) var reservedConnections: Int?
    @Option(.controlConnections) var controlConnections: Int?
    @Option(.maxConnectionsPerUid) var maxConnectionsPerUid: Int?
    @Option(.acceptRate) var acceptRate: Int?
    @Option(.acceptBurst) var acceptBurst: Int?
    @Option(.maxWatches) var maxWatches: Int?
    @Option(.maxWaits) var maxWaits: Int?
    @Option(.maxHolds) var maxHolds: Int?
    @Option(.maxGuards) var maxGuards: Int?
    @Option(.maxReplies) var maxReplies: Int?
    @Option(.ringChanges) var ringChanges: Int?
    @Option(.ringBytes) var ringBytes: Int?

    package init() {}
}

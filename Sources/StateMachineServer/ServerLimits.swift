/// What the server allows its clients beside `RequestLimits`: the protocol's defaults.
struct ServerLimits: Sendable {
    /// Changes kept for readers that fall behind.
    ///
    /// 4096: at ten changes a second, the last seven minutes. Not tuned.
    var ringChanges = 4096

    /// Bytes of encoded changes kept for them.
    var ringBytes = 4 << 20

    /// Connections at a time, of both doors.
    var connections = 512

    /// Watches that one connection may have.
    var watchesPerConnection = 8

    /// Waits that one connection may have.
    var waitsPerConnection = 32

    /// Replies that may be waiting for a client to read them; past it the client is not read.
    var repliesInFlight = 32

    /// How long a client that is told to go may take to read that, in milliseconds.
    ///
    /// A second: any reader that is awake has read it by then. Picked, not tuned.
    var farewellMs: Int64 = 1000
}

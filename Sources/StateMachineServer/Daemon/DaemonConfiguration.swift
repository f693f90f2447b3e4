/// How a daemon is set up.
public struct DaemonConfiguration: Sendable {
    /// The directory for the sockets; nil for the usual one.
    ///
    /// The usual one is `$RUNTIME_DIRECTORY` where systemd sets it, else `/run/statemachine` for root,
    /// else `$XDG_RUNTIME_DIR/statemachine`.
    public var runtimeDirectory: String?

    /// What clients are allowed.
    public var limits: ServerLimits

    /// Called on SIGHUP: reads the limits anew, which then apply as far as they can at once.
    ///
    /// What it throws is logged, and what was in force stays. Runs on no particular thread.
    public var reload: (@Sendable () throws -> ServerLimits)?

    /// Everything as usual, but for what is given.
    public init(
        runtimeDirectory: String? = nil,
        limits: ServerLimits = ServerLimits(),
        reload: (@Sendable () throws -> ServerLimits)? = nil
    ) {
        self.runtimeDirectory = runtimeDirectory
        self.limits = limits
        self.reload = reload
    }
}

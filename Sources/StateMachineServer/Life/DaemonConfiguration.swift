/// How a daemon is set up.
public struct DaemonConfiguration: Sendable {
    /// The directory for the sockets; nil for the default one.
    ///
    /// The default is `$RUNTIME_DIRECTORY` where systemd sets it, else `/run/statemachine` for root,
    /// else `$XDG_RUNTIME_DIR/statemachine`.
    public var runtimeDirectory: String?

    /// What clients are allowed.
    public var limits: ServerLimits

    /// Reads the limits anew on SIGHUP; they then apply at once, as far as they can.
    ///
    /// An error is logged, and the limits in force stay. Runs on no particular thread.
    public var reload: (@Sendable () throws -> ServerLimits)?

    /// A configuration with the defaults for what is not given.
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

/// How a daemon is set up.
public struct DaemonConfiguration: Sendable {
    /// The directory for the sockets; nil for the usual one.
    ///
    /// The usual one is `$RUNTIME_DIRECTORY` where systemd sets it, else `/run/statemachine` for root,
    /// else `$XDG_RUNTIME_DIR/statemachine`.
    public var runtimeDirectory: String?

    /// What clients are allowed.
    public var limits: ServerLimits

    /// Everything as usual, but for what is given.
    public init(runtimeDirectory: String? = nil, limits: ServerLimits = ServerLimits()) {
        self.runtimeDirectory = runtimeDirectory
        self.limits = limits
    }
}

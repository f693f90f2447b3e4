/// How a daemon is set up.
public struct DaemonConfiguration: Sendable {
    /// The directory for the sockets; nil for the usual one.
    ///
    /// The usual one is `$RUNTIME_DIRECTORY` where systemd sets it, else `/run/statemachine` for root,
    /// else `$XDG_RUNTIME_DIR/statemachine`.
    public var runtimeDirectory: String?

    /// Everything as usual.
    public init(runtimeDirectory: String? = nil) {
        self.runtimeDirectory = runtimeDirectory
    }
}

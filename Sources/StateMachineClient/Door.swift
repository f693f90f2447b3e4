/// One of the daemon's two sockets.
public enum Door: String, CaseIterable, Hashable, Sendable {
    /// Takes every operation and says nothing unasked.
    case control
    /// Takes the operations that leave everything as it is; connecting is watching.
    case events

    /// The socket's name in the runtime directory.
    public var fileName: String { "\(self.rawValue).sock" }
}

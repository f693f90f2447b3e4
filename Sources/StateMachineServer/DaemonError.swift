/// Why the daemon does not start, in one sentence which says what to do.
public struct DaemonError: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A system call that failed, with what `errno` says of it.
    init(_ action: String, errno code: CInt) {
        self.init("cannot \(action): \(SystemError.text(of: code))")
    }
}

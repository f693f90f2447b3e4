import Glibc
import TestSupport

/// A file that a command waits at, in `read go <FILE`, until the test lets it go on.
final class FIFO: Sendable {
    let path: String
    private let descriptor: CInt

    /// Makes it beside a directory, with its name and an end.
    init(beside directory: String) throws {
        self.path = "\(directory).go"
        guard mkfifo(self.path, 0o600) == 0 else {
            throw TestFailure("cannot make \(self.path): errno \(errno)")
        }
        // What is written stays until it is read, for somebody has it open to read: we do.
        self.descriptor = Glibc.open(self.path, O_RDWR | O_CLOEXEC)
        guard self.descriptor >= 0 else {
            throw TestFailure("cannot open \(self.path): errno \(errno)")
        }
    }

    deinit { close(self.descriptor) }

    /// Lets one command go on, which may be one that is yet to come.
    func open() throws {
        guard write(self.descriptor, "\n", 1) == 1 else {
            throw TestFailure("cannot write to \(self.path): errno \(errno)")
        }
    }
}

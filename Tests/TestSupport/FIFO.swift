import Glibc

/// A file on which a command waits, in `read go <FILE`, until the test releases it.
package final class FIFO: Sendable {
    package let path: String
    private let descriptor: CInt

    /// Creates it beside a directory, named after it.
    package init(beside directory: String) throws {
        self.path = "\(directory).go"
        guard mkfifo(self.path, 0o600) == 0 else {
            throw TestFailure("cannot make \(self.path): errno \(errno)")
        }
        // What is written stays until it is read, because we keep it open for reading.
        self.descriptor = Glibc.open(self.path, O_RDWR | O_CLOEXEC)
        guard self.descriptor >= 0 else {
            throw TestFailure("cannot open \(self.path): errno \(errno)")
        }
    }

    deinit { close(self.descriptor) }

    /// Releases one command, which may start only later.
    package func open() throws {
        guard write(self.descriptor, "\n", 1) == 1 else {
            throw TestFailure("cannot write to \(self.path): errno \(errno)")
        }
    }
}

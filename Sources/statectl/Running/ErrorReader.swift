import Dispatch
import Glibc
import StateMachineCore
import SystemPackage

/// Reads what a command writes to its standard error, passes it on and keeps the first line.
///
/// Guarded state: `line`, behind its lock.
final class ErrorReader: Sendable {
    /// The end that the command has.
    var writeEnd: CInt { self.ends.writeEnd.rawValue }

    private let ends: (readEnd: FileDescriptor, writeEnd: FileDescriptor)
    /// Nothing is written to it: that one end is closed ends the reading.
    private let bell: (readEnd: FileDescriptor, writeEnd: FileDescriptor)
    private let line = Lock(ChildCommand.FirstLine())
    private let queue = DispatchQueue(label: "statectl.errors")

    init() throws {
        self.ends = try FileDescriptor.pipe()
        do {
            self.bell = try FileDescriptor.pipe()
        } catch {
            for descriptor in [self.ends.readEnd, self.ends.writeEnd] { close(descriptor.rawValue) }
            throw error
        }
        for descriptor in [
            self.ends.readEnd, self.ends.writeEnd, self.bell.readEnd, self.bell.writeEnd,
        ] { _ = fcntl(descriptor.rawValue, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(self.ends.readEnd.rawValue, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(self.ends.readEnd.rawValue)
        close(self.bell.readEnd.rawValue)
    }

    /// Begins to read: the command has the other end.
    func begin() { self.queue.async { self.read() } }

    /// Ends the reading once all that is there has been read.
    ///
    /// The command has ended, or there is none. What it has left behind may write for ever.
    func end() {
        close(self.ends.writeEnd.rawValue)
        close(self.bell.writeEnd.rawValue)
    }

    /// The first line, once the reading has ended.
    var firstLine: String? {
        get async {
            await withCheckedContinuation { continuation in
                self.queue.async { continuation.resume() }
            }
            return self.line.withLock { $0.text }
        }
    }

    private func read() {
        let events = Int16(POLLIN)
        var polled = [
            pollfd(fd: self.ends.readEnd.rawValue, events: events, revents: 0),
            pollfd(fd: self.bell.readEnd.rawValue, events: events, revents: 0),
        ]
        while true {
            guard poll(&polled, 2, -1) > 0 || errno == EINTR else { return }
            let isOver = polled[1].revents != 0
            guard self.drain(), !isOver else { return }
        }
    }

    /// Reads what is there; false at the end.
    private func drain() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(self.ends.readEnd.rawValue, &buffer, buffer.count)
            guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
            let bytes = Array(buffer[..<count])
            StandardError.pass(bytes)
            self.line.withLock { $0.append(bytes) }
        }
    }
}

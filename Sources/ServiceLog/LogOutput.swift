import Dispatch
import Glibc
import StateMachineCore
import Systemd

/// Writes the log from a thread of its own, so that whoever logs never waits for a reader.
///
/// The backlog is bounded; what is left out is reported.
///
/// Guarded state: `waiting`, behind its lock.
package final class LogOutput: Sendable {
    /// The one output of the process, as there is one stderr.
    package static let standardError = LogOutput(STDERR_FILENO)

    /// What is to be written, and where.
    enum Entry: Sendable {
        /// To stderr, with its newline.
        case line(String)
        /// To the journal; the line if the journal does not take it.
        case journal([(name: String, value: String)], otherwise: @Sendable () -> Void)
    }

    private struct Waiting {
        var entries: [Entry] = []
        /// How many entries were left out since the last write.
        var leftOut = 0
    }

    /// The most entries that may wait.
    ///
    /// 1024: a few hundred kilobytes, and what a reader takes in a moment. Not tuned.
    private static let limit = 1024

    private let waiting = Lock(Waiting())
    private let thread = NotificationThread(name: "log")
    private let descriptor: CInt

    /// An output that writes lines to that descriptor, which has to stay open.
    init(_ descriptor: CInt) { self.descriptor = descriptor }

    func write(_ entry: Entry) {
        let isFirst = self.waiting.withLock { waiting in
            guard waiting.entries.count < Self.limit else {
                waiting.leftOut += 1
                return false
            }
            waiting.entries.append(entry)
            return waiting.entries.count == 1
        }
        if isFirst { self.thread.enqueue { self.drain() } }
    }

    /// Writes a sentence for people to stderr.
    package func write(sentence: String) { self.write(.line("\(sentence)\n")) }

    /// Waits until all is written, but no longer than that.
    ///
    /// To be called before the process ends.
    package func flush(within seconds: Int = 1) {
        let written = DispatchSemaphore(value: 0)
        self.thread.enqueue { written.signal() }
        _ = written.wait(timeout: .now() + .seconds(seconds))
    }

    private func drain() {
        let (entries, leftOut) = self.waiting.withLock { waiting in
            defer { waiting = Waiting() }
            return (waiting.entries, waiting.leftOut)
        }
        for entry in entries {
            switch entry {
            case .line(let line): self.writeLine(line)
            case .journal(let fields, let otherwise):
                if !Journal.send(fields) { otherwise() }
            }
        }
        guard leftOut > 0 else { return }
        self.writeLine(
            "statemachine: \(leftOut) lines of the log were lost, as the log was read too slowly\n"
        )
    }

    /// Writes all of it; what stderr does not take is lost, and there is nobody to tell.
    private func writeLine(_ line: String) {
        var bytes = Array(line.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Glibc.write(self.descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EAGAIN {
                // Somebody has made it non-blocking; this thread has time.
                var ready = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}

extension LogOutput {
    /// Runs a program: ends the process with the status that `body` returns, once the log is written.
    package static func run(_ body: @escaping @MainActor () async -> CInt) -> Never {
        // On the main actor from the first line, so that nothing runs on Dispatch's global queues.
        Task { @MainActor in
            let status = await body()
            self.standardError.flush()
            // Not exit(3): it waits for the lock of a stderr that a thread may be writing to, for ever
            // if nobody reads it.
            _exit(status)
        }
        dispatchMain()
    }
}

/// Lines for stderr, as a log handler gives them out: one with each call, its newline at the end.
struct LogLines: TextOutputStream, Sendable {
    private let output: LogOutput

    init(to output: LogOutput) { self.output = output }

    mutating func write(_ string: String) {
        // Text from a client or a file name must neither begin a new line nor reverse this one.
        let line = string.hasSuffix("\n") ? String(string.dropLast()) : string
        self.output.write(sentence: line.printable)
    }
}

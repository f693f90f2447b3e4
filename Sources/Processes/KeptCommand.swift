internal import CPlatform
internal import Dispatch
internal import Glibc
private import Synchronization
internal import SystemPackage

/// A command that ends when this process ends, however that is.
///
/// A process of its own, the keeper, is between the two. It has one end of a socket; once nobody has the other end, it
/// ends the command and all that came of it, but for what has begun a session of its own: by SIGTERM, and after a while
/// by SIGKILL. Whoever kills the keeper kills the command, and nothing else.
///
/// Guarded state: `channel`, behind its lock; -1 once it is closed.
package final class KeptCommand: Sendable {
    /// How it ended.
    package enum End: Hashable, Sendable {
        case exited(CInt)
        case signalled(CInt)
        /// It could not be executed, with the error as in execve(2).
        case notStarted(CInt)
        /// It was to be ended, and something of it is still there though it was sent SIGKILL.
        case left
    }

    /// What it has in place of this process's own; nil leaves that.
    package struct Streams {
        /// What its standard input has, in memory, so that it need not read that.
        package var input: [UInt8]?
        /// A descriptor.
        package var output: CInt?
        /// A descriptor.
        package var errors: CInt?

        package init(input: [UInt8]? = nil, output: CInt? = nil, errors: CInt? = nil) {
            (self.input, self.output, self.errors) = (input, output, errors)
        }
    }

    private let keeper: pid_t
    private let channel: Mutex<CInt>

    /// Starts it; the caller awaits its end by ``end()``.
    ///
    /// - Parameters:
    ///   - path: the program's.
    ///   - words: from the zeroth on, which is its name.
    ///   - environment: each as `NAME=value`.
    ///   - streams: its standard descriptors.
    ///   - descriptor: what the keeper is to keep open as long as anything of the command is there; nil for nothing.
    ///   - grace: from SIGTERM to SIGKILL.
    /// - Throws: that there is no room for it; what else is wrong with it is its end.
    package init(
        path: [UInt8],
        words: [[UInt8]],
        environment: [[UInt8]],
        streams: Streams,
        keeping descriptor: CInt? = nil,
        grace: Duration
    ) throws(ProgramStart.Failure) {
        ProcessStart.keepOwnDescriptors()
        let input = try streams.input.map(ProgramStart.memoryFile)
        defer { if let input { close(input) } }
        let standard = [input ?? -1, streams.output ?? -1, streams.errors ?? -1]
        let milliseconds = CInt(clamping: Int(grace / .milliseconds(1)))
        var (keeper, channel): (pid_t, CInt) = (0, -1)
        let error = ProgramStart.withCString(path) { path in
            ProgramStart.withCStrings(words) { words in
                ProgramStart.withCStrings(environment) { environment in
                    platform_start_kept(
                        &keeper,
                        &channel,
                        path,
                        words,
                        environment,
                        standard,
                        descriptor ?? -1,
                        milliseconds
                    )
                }
            }
        }
        guard error == 0 else { throw .scarcity(error) }
        self.keeper = keeper
        self.channel = Mutex(channel)
    }

    deinit { self.channel.withLock { _ = close($0) } }

    /// Waits for its end, once, on a thread of its own.
    package func end() async -> End {
        let channel = self.channel.withLock { $0 }
        return await withCheckedContinuation { continuation in
            DispatchQueue(label: "end of \(self.keeper)").async {
                // Nothing closes the channel before this has returned: it has `self`.
                continuation.resume(returning: self.end(saidBy: channel))
            }
        }
    }

    private func end(saidBy channel: CInt) -> End {
        var packet = platform_kept_packet()
        let isSaid = platform_hear_keeper(channel, &packet) != 0
        // Its end may be a long time off.
        if isSaid, packet.news == PLATFORM_KEPT_LEFT { return .left }
        while waitpid(self.keeper, nil, 0) < 0, errno == EINTR {}
        if isSaid, packet.news == PLATFORM_KEPT_NOT_STARTED { return .notStarted(packet.value) }
        // A keeper that was killed has taken the command with it.
        return isSaid ? End(packet.value) : .signalled(SIGKILL)
    }

    /// Sends the command a signal, unless it has ended.
    package func send(_ signal: CInt) {
        self.channel.withLock { platform_signal_by_keeper($0, signal) }
    }

    /// Has the keeper keep that descriptor, of which it gets a duplicate, and no longer the one it had.
    package func keep(_ descriptor: CInt) {
        self.channel.withLock { platform_give_to_keeper($0, descriptor) }
    }

    /// Ends it, as the end of this process would; returns at once.
    package func stop() { self.channel.withLock { _ = shutdown($0, CInt(SHUT_WR)) } }
}

extension KeptCommand.End {
    /// From what waitpid(2) says.
    fileprivate init(_ status: CInt) {
        switch RunningProgram.End(status) {
        case .exited(let code): self = .exited(code)
        case .signalled(let signal): self = .signalled(signal)
        }
    }
}

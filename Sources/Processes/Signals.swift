internal import CPlatform
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Signals that are reported instead of having their usual effect.
package enum Signals {
    /// The signals that end a process from outside, and may be made to wait.
    package static let ending = [SIGINT, SIGTERM, SIGHUP]
    /// Those that a terminal sends to all processes in its foreground.
    package static let ofTerminals = [SIGINT, SIGQUIT]
    /// The others that end a process which does not catch them, and that somebody may send to it.
    package static let passedOn = [
        SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR,
    ]

    /// Those signals as they come, from now on; once the stream is no longer iterated over, they have their usual
    /// effect again.
    ///
    /// A signal that was ignored when the process began, as SIGINT is for a script's background jobs, is still ignored,
    /// unless it is among `evenIgnored`.
    package static func stream(_ numbers: [CInt], evenIgnored: [CInt] = []) -> AsyncStream<CInt> {
        self.stream(of: numbers.map { ($0, $0) }, evenIgnored: evenIgnored)
    }

    /// As ``stream(_:evenIgnored:)``, each signal by what it means.
    package static func stream<Meaning: Sendable>(
        of meanings: [(number: CInt, meaning: Meaning)],
        evenIgnored: [CInt] = []
    ) -> AsyncStream<Meaning> {
        let caught = meanings.filter {
            evenIgnored.contains($0.number) || !self.isIgnored($0.number)
        }
        return AsyncStream { continuation in
            let listener = Traps.listen(caught.map(\.number)) { number in
                for each in caught where each.number == number { continuation.yield(each.meaning) }
            }
            continuation.onTermination = { _ in Traps.remove(listener) }
        }
    }

    private static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        return handler == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Ends this process by that signal, so that its parent sees why.
    package static func end(by number: CInt) -> Never {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
        exit(128 + number)
    }
}

/// Who listens to which signals of the process.
///
/// The handler writes the number into a pipe, which is all that one may do (signal-safety(7)). Dispatch's own sources
/// want the signal ignored before they see it: one that comes in between is lost.
private enum Traps {
    private struct Listener {
        let numbers: [CInt]
        let body: @Sendable (CInt) -> Void
    }

    private struct State {
        var listeners: [Int: Listener] = [:]
        var next = 0
        var source: (any DispatchSourceRead)?
    }

    private static let state = Mutex(State())
    /// Written once, before there is a handler.
    private nonisolated(unsafe) static var writeEnd: CInt = -1

    static func listen(_ numbers: [CInt], _ body: @escaping @Sendable (CInt) -> Void) -> Int {
        self.state.withLock { state in
            if state.source == nil { state.source = self.open() }
            state.next += 1
            state.listeners[state.next] = Listener(numbers: numbers, body: body)
            for number in numbers { signal(number) { Traps.caught($0) } }
            return state.next
        }
    }

    static func remove(_ id: Int) {
        self.state.withLock { state in
            guard let gone = state.listeners.removeValue(forKey: id) else { return }
            let others = state.listeners.values
            for number in gone.numbers
            where !others.contains(where: { $0.numbers.contains(number) }) {
                signal(number, SIG_DFL)
            }
        }
    }

    private static func caught(_ number: CInt) {
        let before = errno
        var byte = UInt8(truncatingIfNeeded: number)
        // A full pipe has that signal in it already.
        _ = write(self.writeEnd, &byte, 1)
        errno = before
    }

    private static func open() -> any DispatchSourceRead {
        var ends: [CInt] = [-1, -1]
        // Without descriptors no program gets this far: ProcessStart.
        _ = pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let readEnd = ends[0]
        self.writeEnd = ends[1]
        let source = DispatchSource.makeReadSource(
            fileDescriptor: readEnd,
            queue: DispatchQueue(label: "statemachine.signals")
        )
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(readEnd, &bytes, bytes.count)
            guard count > 0 else { return }
            for number in bytes[..<count].map(CInt.init) {
                let listeners = self.state.withLock {
                    $0.listeners.values.filter { $0.numbers.contains(number) }
                }
                for listener in listeners { listener.body(number) }
            }
        }
        source.activate()
        return source
    }
}

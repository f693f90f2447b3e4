import Dispatch
import Glibc

/// Signals that are reported instead of having their usual effect.
enum Signals {
    /// The signals that end a process from outside, and may be made to wait.
    static let ending = [SIGINT, SIGTERM, SIGHUP]
    /// Those that a terminal sends to all processes in its foreground.
    static let ofTerminals = [SIGINT, SIGQUIT]
    /// The others that end a process which does not catch them, and that somebody may send to it.
    static let passedOn = [
        SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR,
    ]

    /// Those signals as they come; once the stream is no longer iterated over, they have their
    /// usual effect again.
    ///
    /// A signal that was ignored when the process began, as SIGINT is for a script's background
    /// jobs, is still ignored, unless `isForJobs`: what others have to wait for has to end with its
    /// script. SIGHUP that was ignored stays so: that is what nohup(1) is for.
    static func stream(_ numbers: [CInt], isForJobs: Bool = false) -> AsyncStream<CInt> {
        AsyncStream { continuation in
            let caught = numbers.filter { isForJobs && $0 != SIGHUP || !self.isIgnored($0) }
            let sources = Sources(caught) { continuation.yield($0) }
            continuation.onTermination = { _ in sources.cancel() }
        }
    }

    /// The sources of signals.
    ///
    /// Guarded state: `sources`, which never changes; a source is only ever cancelled, which any
    /// thread may do. That makes `@unchecked Sendable` true.
    private final class Sources: @unchecked Sendable {
        private let numbers: [CInt]
        private let sources: [any DispatchSourceSignal]

        init(_ numbers: [CInt], _ body: @escaping @Sendable (CInt) -> Void) {
            let queue = DispatchQueue(label: "statectl.signals")
            self.numbers = numbers
            self.sources = numbers.map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler { body(number) }
                source.resume()
                return source
            }
        }

        func cancel() {
            for source in self.sources { source.cancel() }
            for number in self.numbers { signal(number, SIG_DFL) }
        }
    }

    private static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        return handler == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Ends this process by that signal, so that its parent sees why.
    static func end(by number: CInt) -> Never {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
        exit(128 + number)
    }
}

import Dispatch
import Glibc

/// Signals that are told of instead of doing what they do.
enum Signals {
    /// What ends a process from without, and may be asked to wait.
    static let ending = [SIGINT, SIGTERM]

    /// Those signals as they come; once the stream is no longer iterated over they do again what
    /// they do.
    ///
    /// One that was ignored when the process began, as SIGINT is for a script's background jobs, is
    /// still ignored, unless `isForJobs`: what stands in the way of others until it is ended has to end with its script.
    static func stream(_ numbers: [CInt], isForJobs: Bool = false) -> AsyncStream<CInt> {
        AsyncStream { continuation in
            let caught = numbers.filter { isForJobs || !self.isIgnored($0) }
            let sources = Sources(caught) { continuation.yield($0) }
            continuation.onTermination = { _ in sources.cancel() }
        }
    }

    /// Where signals come from.
    ///
    /// Guarded state: `sources`, which is never changed; what may be done to a source from any thread
    /// is to cancel it, and that is all that is done. That makes `@unchecked Sendable` true.
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

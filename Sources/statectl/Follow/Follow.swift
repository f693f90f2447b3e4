import Processes
import StateMachineClient
import StateMachineCore

/// Follows a machine over as many connections as it takes, and tells when its daemon has gone and when it is back.
struct Follow: Sendable {
    /// What there is to tell.
    enum News: Sendable {
        case line(Line)
        /// There is a connection again, and a line follows. `isAgain`: whether the daemon had been there before.
        case connected(isAgain: Bool)
        /// The daemon has gone.
        case gone(ClientError)
        /// The daemon was not there to begin with.
        case awaited(ClientError)
        /// A state that ends the watch was reached.
        case reached(Line)
    }

    /// What comes after some news.
    enum Step {
        case next
        /// The next news, after a line that counts.
        case counted
        /// Another subscription, after that cursor.
        case again(since: String?)
    }

    let watch: Watch
    /// The number of lines that count after which it ends.
    var count: Int?

    /// Calls `take` with all that there is to tell, in order; returns after the last line or the state that was to be
    /// reached.
    ///
    /// - Throws: ``ClientError``, `CancellationError`, or what `take` throws.
    func run(_ take: (News) async throws -> Step) async throws {
        var (isKnown, isConnected) = (false, true)
        var (watch, counted) = (self.watch, 0)
        subscriptions: while true {
            for try await event in watch {
                let step: Step
                switch event {
                case .line(let line):
                    if !isConnected { _ = try await take(.connected(isAgain: isKnown)) }
                    (isKnown, isConnected) = (true, true)
                    step = try await take(.line(line))
                case .reached(let line): step = try await take(.reached(line))
                case .interrupted(let error, _, _):
                    guard isConnected else { continue }
                    isConnected = false
                    step = try await take(isKnown ? .gone(error) : .awaited(error))
                }
                switch step {
                case .next: break
                case .counted: counted += 1
                case .again(let cursor):
                    watch.since = cursor
                    continue subscriptions
                }
                if counted == self.count { return }
            }
            return
        }
    }
}

extension Follow.News {
    /// Says on standard error that a connection is lost or there again.
    func complain() {
        switch self {
        case .connected: StandardError.say("connected")
        case .gone(let error): StandardError.say(error.reconnecting)
        case .awaited(let error): StandardError.say(error.awaiting)
        case .line, .reached: break
        }
    }
}

extension ClientError {
    /// Why there is no connection to a daemon that is gone, for people, and that it is retried.
    var reconnecting: String { "\(self.description.printable); reconnecting" }

    /// The same for a daemon that was not there to begin with, or is and cannot do it yet.
    var awaiting: String {
        let isThere = if case .refused = self { true } else { false }
        return "\(self.description.printable); waiting\(isThere ? "" : " for the daemon")"
    }
}

extension Client {
    /// Waits for the daemon, and says once that it does.
    func arrival() async throws {
        for try await event in self.watch(isPatient: true) {
            switch event {
            case .interrupted(let error, attempt: 1, _): StandardError.say(error.awaiting)
            case .interrupted: break
            case .line, .reached: return
            }
        }
    }
}

/// Several things that are done at once until one of them ends, which ends the others.
enum Race {
    typealias Entry<End> = @Sendable () async throws -> End

    /// Ends with a signal that would end the process.
    static let signal: Entry<Void> = { try await Self.signal(evenIgnored: []) }

    /// Ends when nobody reads standard output any more.
    static let reader: Entry<Void> = {
        await ReaderWatch.readerIsGone()
        throw OutputError.readerGone
    }

    /// Ends with a signal that would end the process, or with one of `evenIgnored` even if it was ignored when the
    /// process began.
    static func signal(evenIgnored: [CInt]) async throws {
        for await number in Signals.stream(Signals.ending, evenIgnored: evenIgnored) {
            throw ProcessEnd.signal(number)
        }
    }

    /// Returns the result of the first entry to end; the others are cancelled and awaited.
    static func run<End: Sendable>(_ entries: Entry<End>...) async throws -> End {
        try await self.run(entries)
    }

    /// The same, but returns what `late` returns if no entry has ended within `time`; nil: no limit.
    static func run<End: Sendable>(
        _ entries: [Entry<End>],
        within time: Duration? = nil,
        late: @escaping @Sendable () throws -> End = { throw CancellationError() }
    ) async throws -> End {
        try await withThrowingTaskGroup(of: End.self) { group in
            for entry in entries { group.addTask(operation: entry) }
            if let time {
                group.addTask {
                    try await QuietClock().sleep(for: time)
                    return try late()
                }
            }
            defer { group.cancelAll() }
            guard let end = try await group.next() else { throw CancellationError() }
            return end
        }
    }
}

/// One thing that a client asks for.
package struct Request: Hashable, Sendable {
    /// Comes back on every line that the request causes.
    package let id: RequestID?
    package let call: Call

    /// The operations with what they were given.
    package enum Call: Hashable, Sendable {
        case get
        case set(SetCall)
        case watch(WatchCall)
        case unwatch
        case wait(WaitCall)
        case describe
        case ping
        case help
    }

    package var operation: Operation {
        switch self.call {
        case .get: .get
        case .set: .set
        case .watch: .watch
        case .unwatch: .unwatch
        case .wait: .wait
        case .describe: .describe
        case .ping: .ping
        case .help: .help
        }
    }
}

/// What can be asked for, by the word that stands for it.
package enum Operation: String, CaseIterable, Hashable, Sendable {
    case get
    case set
    case watch
    case unwatch
    case wait
    case describe
    case ping
    case help

    /// The keys that it takes beside `op` and `id`.
    package var keys: [String] {
        switch self {
        case .get, .unwatch, .describe, .ping, .help: []
        case .set: ["state", "data", "ifSeq", "ifState", "reenter", "cause"]
        case .watch: ["since", "only"]
        case .wait: ["until", "fail", "since", "timeoutMs"]
        }
    }

    /// Whether it leaves everything as it is; these the events door takes too.
    package var isReading: Bool {
        switch self {
        case .set: false
        case .get, .watch, .unwatch, .wait, .describe, .ping, .help: true
        }
    }
}

/// What a client calls one of its requests.
package enum RequestID: Hashable, Sendable {
    case integer(Int64)
    case string(String)
}

/// A state to be set, and when.
package struct SetCall: Hashable, Sendable {
    package var state: String
    package var data: JSONValue?
    /// Only if the machine is at this seq.
    package var ifSeq: UInt64?
    /// Only if the current state matches.
    package var ifState: Pattern?
    /// Makes a transition even of the identical state.
    package var reenter = false
    package var cause: String?
}

/// A subscription.
package struct WatchCall: Hashable, Sendable {
    /// Where the reader left off, as it gave it.
    package var since: String?
    /// Which states it wants; nil means all.
    package var only: [Pattern]?

    package init(since: String? = nil, only: [Pattern]? = nil) {
        self.since = since
        self.only = only
    }
}

/// Outcomes to wait for.
package struct WaitCall: Hashable, Sendable {
    package var until: [Pattern]
    /// Outcomes that end the wait badly; they win over `until`.
    package var fail: [Pattern] = []
    package var since: String?
    /// How long, in milliseconds; nil means for ever.
    package var timeoutMs: UInt64?
}

/// A line that is no request, and what to answer.
package struct RefusedRequest: Error, Hashable, Sendable {
    /// The request's own id, where it could be read.
    package let id: RequestID?
    package let error: WireError
}

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
        case hold(HoldCall)
        case release(UInt64)
        case `guard`(GuardCall)
        case vote(VoteCall)
        case history(HistoryCall)
        case describe
        case stats
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
        case .hold: .hold
        case .release: .release
        case .guard: .guard
        case .vote: .vote
        case .history: .history
        case .describe: .describe
        case .stats: .stats
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
    case hold
    case release
    case `guard`
    case vote
    case history
    case describe
    case stats
    case ping
    case help

    /// The keys that it takes beside `op` and `id`.
    package var keys: [String] {
        switch self {
        case .get, .unwatch, .describe, .stats, .ping, .help: []
        case .set: ["state", "data", "ifSeq", "ifState", "reenter", "cause"]
        case .watch: ["since", "only", "mode", "everyMs", "beatMs"]
        case .wait: ["until", "fail", "since", "timeoutMs"]
        case .hold: ["before", "mode", "maxMs", "why"]
        case .release: ["hold"]
        case .guard: ["before", "timeoutMs", "onTimeout", "why"]
        case .vote: ["ask", "allow", "why"]
        case .history: ["since", "limit", "only"]
        }
    }

    /// Whether it leaves everything as it is; these the events door takes too.
    package var isReading: Bool {
        switch self {
        case .set, .hold, .release, .guard, .vote: false
        case .get, .watch, .unwatch, .wait, .history, .describe, .stats, .ping, .help: true
        }
    }
}

/// What a client calls one of its requests.
package enum RequestID: Hashable, Sendable {
    case integer(Int64)
    case string(String)

    package static func == (left: RequestID, right: RequestID) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left == right
        case (.string(let left), .string(let right)): left.isSpelled(right)
        case (.integer, _), (.string, _): false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .integer(let integer): hasher.combine(integer)
        case .string(let string): string.hashSpelling(into: &hasher)
        }
    }
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

    package init(
        state: String,
        data: JSONValue? = nil,
        ifSeq: UInt64? = nil,
        ifState: Pattern? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) {
        self.state = state
        self.data = data
        self.ifSeq = ifSeq
        self.ifState = ifState
        self.reenter = reenter
        self.cause = cause
    }
}

/// A subscription.
package struct WatchCall: Hashable, Sendable {
    /// Where the reader left off, as it gave it.
    package var since: String?
    /// Which states it wants; nil means all.
    package var only: [Pattern]?
    package var mode: WatchMode
    /// The least time between two lines, in milliseconds; 0 for none.
    package var everyMs: UInt64
    /// How long it may be silent, in milliseconds; nil for ever.
    package var beatMs: UInt64?

    package init(
        since: String? = nil,
        only: [Pattern]? = nil,
        mode: WatchMode = .all,
        everyMs: UInt64 = 0,
        beatMs: UInt64? = nil
    ) {
        self.since = since
        self.only = only
        self.mode = mode
        self.everyMs = everyMs
        self.beatMs = beatMs
    }
}

/// Which of the changes that it wants a watch is sent.
package enum WatchMode: String, CaseIterable, Hashable, Sendable {
    /// Every one.
    case all
    /// Of those that have gathered when the reader can take a line, the newest.
    case latest
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

/// Transitions to be prevented or postponed.
package struct HoldCall: Hashable, Sendable {
    /// The states that are not to be entered.
    package var before: [Pattern]
    package var mode: Mode
    package var why: String?

    /// What a hold does to a transition that it matches.
    package enum Mode: Hashable, Sendable {
        /// It is denied.
        case block
        /// It is postponed, so many milliseconds at the most.
        case delay(maxMs: UInt64)
    }
}

/// Transitions about which the client wants to be asked.
package struct GuardCall: Hashable, Sendable {
    /// The states before which it is asked.
    package var before: [Pattern]
    /// How long it is waited for, in milliseconds.
    package var timeoutMs: UInt64
    /// Whether its silence is consent.
    package var allowsOnTimeout: Bool
    package var why: String?
}

/// An answer to an `ask`.
package struct VoteCall: Hashable, Sendable {
    package var ask: UInt64
    package var allow: Bool
    package var why: String?
}

/// Changes of the past.
package struct HistoryCall: Hashable, Sendable {
    package var since: String?
    package var limit: UInt64
    package var only: [Pattern]?
}

/// A line that is no request, and what to answer.
package struct RefusedRequest: Error, Hashable, Sendable {
    /// The request's own id, where it could be read.
    package let id: RequestID?
    package let error: WireError
}

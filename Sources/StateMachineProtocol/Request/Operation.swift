/// The operations that can be requested, by their words.
package enum Operation: String, CaseIterable, Hashable, Sendable {
    case get
    case set
    case send
    case update
    case watch
    case unwatch
    case wait
    case hold
    case release
    case `guard`
    case vote
    case history
    case reload
    case describe
    case stats
    case ping
    case help

    /// By their spelling.
    static let table = WordTable(allCases)

    /// The keys that it takes besides ``RequestKey/op`` and ``RequestKey/id``, in writing order.
    package var keys: [RequestKey] { Self.keys[self] ?? [] }

    private static let keys = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.ownKeys) })

    private var ownKeys: [RequestKey] {
        switch self {
        case .get, .unwatch, .reload, .describe, .stats, .ping, .help: []
        case .set: SetCall.arguments.map(\.key)
        case .send: SendCall.arguments.map(\.key)
        case .update: UpdateCall.arguments.map(\.key)
        case .watch: WatchCall.arguments.map(\.key)
        case .wait: WaitCall.arguments.map(\.key)
        case .hold: HoldCall.arguments.map(\.key)
        case .release: ReleaseCall.arguments.map(\.key)
        case .guard: GuardCall.arguments.map(\.key)
        case .vote: VoteCall.arguments.map(\.key)
        case .history: HistoryCall.arguments.map(\.key)
        }
    }

    /// Whether it requests a change, which is answered in its turn.
    package var isProposal: Bool { self == .set || self.isOfEvents }

    /// Whether only a machine that has events takes it.
    package var isOfEvents: Bool { self == .send || self == .update }

    /// Whether it changes nothing; the events door takes these too.
    package var isReading: Bool {
        switch self {
        case .set, .send, .update, .hold, .release, .guard, .vote, .reload: false
        case .get, .watch, .unwatch, .wait, .history, .describe, .stats, .ping, .help: true
        }
    }
}

/// The keys of requests, shared by the code that reads requests and the code that writes them.
package enum RequestKey: String, CaseIterable, Sendable {
    case op, id
    case state, event, data, words, add, ifSeq, ifState, ifStay, reenter, cause
    case since, only, mode, everyMs, beatMs
    case until, fail, timeoutMs
    case before, maxMs, onTimeout, why
    case hold, ask, allow, limit
    case order, after, by, outline, progress
    case required, untilMs
    case name = "as"

    /// By their spelling.
    static let table = WordTable(allCases)
}

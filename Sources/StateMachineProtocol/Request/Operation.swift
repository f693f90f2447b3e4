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
    case hosts
    case ping
    case help

    /// By their spelling.
    static let table = WordTable(allCases)

    /// The keys that it takes besides ``RequestKey/op`` and ``RequestKey/id``, in writing order.
    package var keys: [RequestKey] { Self.keys[self] ?? [] }

    private static let keys = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.ownKeys) })

    private var ownKeys: [RequestKey] {
        switch self {
        case .unwatch, .reload, .describe, .stats, .hosts, .ping, .help: []
        case .get: GetCall.arguments.keys
        case .set: SetCall.arguments.keys
        case .send: SendCall.arguments.keys
        case .update: UpdateCall.arguments.keys
        case .watch: WatchCall.arguments.keys
        case .wait: WaitCall.arguments.keys
        case .hold: HoldCall.arguments.keys
        case .release: ReleaseCall.arguments.keys
        case .guard: GuardCall.arguments.keys
        case .vote: VoteCall.arguments.keys
        case .history: HistoryCall.arguments.keys
        }
    }

    /// Whether it requests a change, which is answered in its turn.
    package var isProposal: Bool { self == .set || self.isOfEvents }

    /// Whether only a machine that has events takes it.
    package var isOfEvents: Bool { self == .send || self == .update }

    /// Whether only a machine that several hosts share takes it.
    package var isOfSharing: Bool { self == .hosts }

    /// Whether it changes nothing; the events door takes these too.
    package var isReading: Bool {
        switch self {
        case .set, .send, .update, .hold, .release, .guard, .vote, .reload: false
        case .get, .watch, .unwatch, .wait, .history, .describe, .stats, .hosts, .ping, .help:
            true
        }
    }
}

/// The keys of requests, shared by the code that reads requests and the code that writes them.
package enum RequestKey: String, CaseIterable, Sendable {
    case op, id
    case state, event, data, words, add, ifSeq, ifState, ifStay, reenter, cause, force
    case since, only, mode, everyMs, beatMs
    case until, fail, timeoutMs
    case before, maxMs, onTimeout, why
    case hold, ask, allow, limit
    case order, after, by, outline, progress
    case required, untilMs, possible, fresh
    case name = "as"

    /// By their spelling, each with its number.
    static let table = WordTable(allCases)

    /// Its place among all of them.
    var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// These as a set: each the bit of its number.
    static func bits(_ keys: [RequestKey]) -> UInt64 {
        keys.reduce(0) { $0 | 1 << UInt64($1.number) }
    }
}

/// Where the values of a request's keys are in its line.
struct RequestPlaces {
    /// By a key's number.
    ///
    /// 40: there are fewer keys. A place is below 2^16, since a request has no more than ``RequestLimits/values``.
    private var places = InlineArray<40, UInt16>(repeating: 0)
    /// The keys that are given, each a bit.
    private(set) var given: UInt64 = 0
    /// Whether there are others besides, which the protocol does not have.
    private(set) var hasUnknown = false

    /// Where the value of the key of that number is; nil if it is not given.
    @inline(__always)
    subscript(number: Int) -> JSONText.Place? {
        self.given & 1 << UInt64(number) == 0 ? nil : JSONText.Place(self.places[number])
    }

    /// Notes a key by its number; false if it was there already.
    mutating func note(_ number: Int, at place: JSONText.Place) -> Bool {
        guard self[number] == nil else { return false }
        self.given |= 1 << UInt64(number)
        self.places[number] = UInt16(truncatingIfNeeded: place)
        return true
    }

    /// Notes a key that is none of the protocol's.
    mutating func noteUnknown() { self.hasUnknown = true }
}

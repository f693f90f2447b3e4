// What a client asks for.
extension Request {
    /// Asks for the current state.
    public static let get = Request(.get)
    /// Ends the watch that has no id.
    public static let unwatch = Request(.unwatch)
    /// Asks for the states, operations and limits.
    public static let describe = Request(.describe)
    /// Asks for the counters and the connections.
    public static let stats = Request(.stats)
    /// Asks for a sign of life.
    public static let ping = Request(.ping)
    /// Asks for a short text for people.
    public static let help = Request(.help)

    /// Asks for a state to be entered.
    ///
    /// - Parameters:
    ///   - state: the case's name.
    ///   - data: the associated values; nil leaves the key out.
    ///   - words: further ones as people type them, in strings: what each means the field's type says.
    ///   - ifSeq: only if the machine is at this seq.
    ///   - ifState: only if the current state is among those that these patterns mean; none asks for nothing.
    ///   - ifStay: only in the stay that began with this seq.
    ///   - reenter: whether the identical state makes a transition too.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func set(
        _ state: String,
        data: [JSONMember]? = nil,
        words: [JSONMember] = [],
        ifSeq: UInt64? = nil,
        ifState: [Pattern] = [],
        ifStay: UInt64? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) -> Request {
        let call = SetCall(
            state: state,
            data: data.map { .object($0) },
            words: words,
            ifSeq: ifSeq,
            ifState: ifState.isEmpty ? nil : PatternList(ifState),
            ifStay: ifStay,
            reenter: reenter,
            cause: cause
        )
        return Request(.set(call))
    }

    /// Sends an event to a machine that has events.
    ///
    /// - Parameters:
    ///   - event: its name.
    ///   - data: what it carries; nil leaves the key out.
    ///   - words: further fields as people type them, in strings: what each means the field's type says.
    ///   - ifSeq: only if the machine is at this seq.
    ///   - ifState: only if the current state is among those that these patterns mean; none asks for nothing.
    ///   - ifStay: only in the stay that began with this seq.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func send(
        _ event: String,
        data: [JSONMember]? = nil,
        words: [JSONMember] = [],
        ifSeq: UInt64? = nil,
        ifState: [Pattern] = [],
        ifStay: UInt64? = nil,
        cause: String? = nil
    ) -> Request {
        let call = SendCall(
            event: event,
            data: data.map { .object($0) },
            words: words,
            ifSeq: ifSeq,
            ifState: ifState.isEmpty ? nil : PatternList(ifState),
            ifStay: ifStay,
            cause: cause
        )
        return Request(.send(call))
    }

    /// Gives fields of the present state other values; the state is not left.
    ///
    /// - Parameters:
    ///   - data: the new values; null removes a field that may be absent.
    ///   - words: further ones as people type them, in strings: what each means the field's type says.
    ///   - ifStay: only in the stay that began with this seq.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func update(
        _ data: [JSONMember],
        words: [JSONMember] = [],
        ifStay: UInt64? = nil,
        cause: String? = nil
    ) -> Request {
        let call = UpdateCall(data: .object(data), words: words, ifStay: ifStay, cause: cause)
        return Request(.update(call))
    }

    /// Asks for every change.
    ///
    /// - Parameters:
    ///   - since: the cursor of the last line that was seen; later changes are replayed.
    ///   - only: which states; none means every state.
    ///   - pace: how often there are lines; rounded up to milliseconds.
    /// - Returns: the request.
    public static func watch(
        since: String? = nil,
        only: [Pattern] = [],
        pace: Pace = Pace()
    ) -> Request {
        let call = WatchCall(
            since: since,
            only: only.isEmpty ? nil : PatternList(only),
            mode: pace.isLatest ? .latest : .all,
            everyMs: pace.every?.wholeMilliseconds ?? 0,
            beatMs: pace.beat?.wholeMilliseconds
        )
        return Request(.watch(call))
    }

    /// Asks for an answer once a state is reached.
    ///
    /// - Parameters:
    ///   - until: the states to wait for.
    ///   - fail: the states that end the wait badly; they win.
    ///   - since: changes after this cursor are evaluated too.
    ///   - timeout: rounded up to milliseconds; nil means for ever.
    /// - Returns: the request.
    public static func wait(
        until: [Pattern],
        fail: [Pattern] = [],
        since: String? = nil,
        timeout: Duration? = nil
    ) -> Request {
        let timeoutMs = timeout?.wholeMilliseconds
        return Request(
            .wait(
                WaitCall(
                    until: PatternList(until),
                    fail: PatternList(fail),
                    since: since,
                    timeoutMs: timeoutMs
                )
            )
        )
    }

    /// Which end of the past an answer begins at.
    public enum HistoryOrder: String, CaseIterable, Hashable, Sendable {
        /// The oldest change first.
        case oldest
        /// The newest change first.
        case newest
    }

    /// Asks for the changes that the daemon still has.
    ///
    /// - Parameters:
    ///   - since: only those after this cursor; one that cannot be used counts as left out, and the reply says so.
    ///   - limit: at most so many; the daemon has a limit of its own.
    ///   - only: which states; none means every state.
    ///   - order: which end to begin at.
    ///   - after: only those after this change, or made at this time or later.
    ///   - before: only those before this change, or made before this time.
    ///   - uid: only those of this user.
    ///   - program: only those of commands or units of this name, if no user is given.
    ///   - cause: only those in whose cause this text is; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func history(
        since: String? = nil,
        limit: UInt64? = nil,
        only: [Pattern] = [],
        order: HistoryOrder = .oldest,
        after: HistoryPlace? = nil,
        before: HistoryPlace? = nil,
        by uid: UInt32? = nil,
        program: String? = nil,
        cause: String? = nil
    ) -> Request {
        Request(
            .history(
                HistoryCall(
                    since: since,
                    limit: limit,
                    only: only.isEmpty ? nil : PatternList(only),
                    order: order == .oldest ? nil : order,
                    after: after,
                    before: before,
                    by: uid.map { .user($0) } ?? program.map { .program($0) },
                    cause: cause
                )
            )
        )
    }

    /// Asks for an outline of the changes that the daemon still has: which states were entered, and when.
    ///
    /// - Parameters:
    ///   - after: only those after this change, or made at this time or later.
    ///   - before: only those before this change, or made before this time.
    ///   - limit: at most so many; the daemon has a limit of its own.
    /// - Returns: the request.
    public static func outline(
        after: HistoryPlace? = nil,
        before: HistoryPlace? = nil,
        limit: UInt64? = nil
    ) -> Request {
        Request(
            .history(HistoryCall(limit: limit, after: after, before: before, isOutline: true))
        )
    }

    /// What a hold does with a set that it matches.
    public enum HoldMode: String, CaseIterable, Hashable, Sendable {
        /// Refuses it.
        case block
        /// Lets it wait until the hold ends, for a time.
        case delay
    }

    /// What a guard's silence counts as.
    public enum Silence: String, CaseIterable, Hashable, Sendable {
        /// A yes.
        case allow
        /// A no.
        case deny
    }

    /// Asks for states not to be entered while the connection lasts.
    ///
    /// - Parameters:
    ///   - before: the states.
    ///   - mode: what happens to a set.
    ///   - limit: how long a set is delayed at most, rounded up to milliseconds; only for
    ///     ``HoldMode/delay``; nil leaves it to the daemon.
    ///   - why: for whoever is refused; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func hold(
        before: [Pattern],
        mode: HoldMode = .block,
        limit: Duration? = nil,
        why: String? = nil
    ) -> Request {
        let maxMs = limit?.wholeMilliseconds
        let call = HoldCall(before: PatternList(before), mode: mode, maxMs: maxMs, why: why)
        return Request(.hold(call))
    }

    /// Gives back the hold or the guard of that number.
    public static func release(_ number: UInt64) -> Request {
        Request(.release(.number(number)))
    }

    /// Gives back the required guard of that name, connected or not.
    public static func release(required name: String) -> Request {
        Request(.release(.required(name)))
    }

    /// Asks to be asked before states are entered, while the connection lasts.
    ///
    /// - Parameters:
    ///   - before: the states.
    ///   - timeout: how long the daemon waits for a vote, rounded up to milliseconds; nil leaves it to
    ///     the daemon.
    ///   - onTimeout: what silence counts as; nil leaves it to the daemon, whose default is a yes.
    ///   - why: the reason of a no that gives none; at most 256 bytes of UTF-8.
    ///   - name: what the guard is known by if it is required, so that the states are denied while no guard of
    ///     that name is connected, until it is released; nil if its absence allows.
    /// - Returns: the request.
    public static func `guard`(
        before: [Pattern],
        timeout: Duration? = nil,
        onTimeout: Silence? = nil,
        why: String? = nil,
        required name: String? = nil
    ) -> Request {
        let call = GuardCall(
            before: PatternList(before),
            timeoutMs: timeout?.wholeMilliseconds,
            onTimeout: onTimeout,
            why: why,
            required: name
        )
        return Request(.guard(call))
    }

    /// Answers the question of that number.
    public static func vote(_ ask: UInt64, allow: Bool, why: String? = nil) -> Request {
        Request(.vote(VoteCall(ask: ask, allow: allow, why: why)))
    }
}

/// How often a watch has lines.
public struct Pace: Hashable, Sendable {
    /// Whether changes that have not been sent when there is a newer one are left out; how many
    /// shows as ``Line/skipped``.
    public var isLatest: Bool
    /// The shortest time between two changes; nil means none.
    public var every: Duration?
    /// After which silence the daemon gives a sign of life; nil means never.
    public var beat: Duration?

    /// Every change at once, unless said otherwise.
    public init(isLatest: Bool = false, every: Duration? = nil, beat: Duration? = nil) {
        self.isLatest = isLatest
        self.every = every
        self.beat = beat
    }
}

extension Duration {
    /// Milliseconds as a request has them: rounded up, so that no wait ends early; 0 if negative.
    fileprivate var wholeMilliseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = self.components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        // The protocol's integers stay below 2^53; so many milliseconds are 285,000 years.
        let bound = Int64(RequestLimits.integerBound) - 1
        return UInt64(seconds >= bound / 1000 ? bound : seconds * 1000 + fraction)
    }
}

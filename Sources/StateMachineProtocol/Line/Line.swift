public import StateMachineCore

/// A line that the daemon sent.
///
/// Kinds and keys that are not known here are kept and can be read through the subscript; the
/// protocol asks clients to ignore them.
public struct Line: Hashable, Sendable {
    /// The kind of a line, its `type`.
    public enum Kind: Hashable, Sendable {
        /// The answer to a request.
        case reply
        /// The current state, at the beginning of a watch or instead of changes that were missed.
        case state
        /// A transition.
        case change
        /// The end of a replay.
        case live
        /// A question to a guard.
        case ask
        /// From here on another file declares the states.
        case declared
        /// A requested sign of life.
        case beat
        /// The last line of a connection that the daemon closes.
        case bye
        /// A kind that a later protocol has added.
        case other(String)
    }

    /// The line as it was received, without its newline.
    public let text: String
    /// The kind of the line.
    public let kind: Kind
    /// The whole line.
    package let value: JSONValue

    /// The line of those bytes; nil if they are not a JSON object with a `type`.
    public init?(_ bytes: [UInt8]) {
        var parser = JSONParser(bytes)
        let value: JSONValue
        do {
            value = try parser.parse()
        } catch {
            // Not a line of the protocol; the caller says on which socket it came.
            return nil
        }
        guard let type = value["type"]?.string else { return nil }
        self.text = String(decoding: bytes, as: UTF8.self)
        self.kind = Kind(type)
        self.value = value
    }

    /// The member of that name, if the line has it.
    public subscript(_ key: String) -> JSONValue? { self.value[key] }
}

extension Line {
    /// The id of the request that caused the line.
    public var id: RequestID? { self[.id].flatMap { RequestID($0) } }

    /// For a reply: whether the request succeeded.
    public var isOK: Bool? { self[.ok]?.bool }

    /// For a refusal: why, as a stable word.
    public var error: ErrorCode? { self[.error]?.string.map { ErrorCode($0) } }

    /// For a refusal: why, as a sentence that may change.
    public var message: String? { self[.message]?.string }

    /// For a refusal: what would have been possible.
    public var known: [String] {
        self[.known]?.elements?.map { $0.string ?? $0.description } ?? []
    }

    /// For a reply to `set`: whether the state has changed.
    public var hasChanged: Bool? { self[.changed]?.bool }

    /// For a reply to `send`: whether the state handles the event.
    public var isHandled: Bool? { self[.handled]?.bool }

    /// The seq that began the stay in the state; nil for a machine that has no stays, and for a
    /// change that began one.
    public var stay: UInt64? { self.number(.stay) }

    /// What time will do to the state: which state will be entered, and when.
    public var due: (state: NamedState, at: WallTime)? {
        guard let due = self[.due], let state = NamedState(due),
            let at = due["at"]?.string.flatMap({ WallTime(rfc3339: $0) })
        else { return nil }
        return (state, at)
    }

    /// For a reply to `wait`: the pattern that matched, as it was written.
    public var matched: JSONValue? { self[.matched] }

    /// The number of the transition that led to the state.
    public var seq: UInt64? { self.number(.seq) }

    /// The state.
    public var state: NamedState? { NamedState(self.value) }

    /// For a change: the state before.
    public var from: NamedState? { self[.from].flatMap { NamedState($0) } }

    /// When the state was entered.
    public var at: WallTime? { self[.at]?.string.flatMap { WallTime(rfc3339: $0) } }

    /// Who requested the transition; nil if the daemon itself did, or if the line does not say.
    public var by: Peer? {
        guard let uid = self[.by]?["uid"]?.integer.flatMap({ UInt32(exactly: $0) }),
            let pid = self[.by]?["pid"]?.integer.flatMap({ Int32(exactly: $0) })
        else { return nil }
        return Peer(
            uid: uid,
            pid: pid,
            comm: self[.by]?["comm"]?.string,
            unit: self[.by]?["unit"]?.string
        )
    }

    /// Why, in the words of whoever requested the transition.
    public var cause: String? { self[.cause]?.string }

    /// Whether no hold and no guard was asked about the transition.
    public var isForced: Bool { self[.forced]?.bool ?? false }

    /// For a refusal with ``ErrorCode/forbidden``: who may, as the machine's file lists them; nil if no file says.
    public var may: [String]? { self[.may]?.elements?.map { $0.string ?? $0.description } }

    /// The SHA-256 of the file that declares the states, from here on or, in `describe`, now.
    public var declaration: String? { self[.declaration]?.string }

    /// For `declared`: the file's version; for `describe`: the daemon's.
    public var version: String? { self[.version]?.string }

    /// The cursor from which to continue after this line; opaque.
    public var cursor: String? { self[.cursor]?.string }

    /// Whether the change is an old one that was requested.
    public var isReplay: Bool { self[.replay]?.bool ?? false }

    /// Why changes may be missing before this line: `restarted`, `evicted`, `unknown` or `lagged`.
    public var resync: String? { self[.resync]?.string }

    /// How many changes are missing before this line, if known.
    public var missed: UInt64? { self.number(.missed) }

    /// Whether the watch's patterns select the state; a line that shows the state regardless of
    /// them may show one that they do not select.
    public var isSelected: Bool { self[.selected]?.bool ?? true }

    /// For `bye`: why the daemon closes the connection.
    public var reason: String? { self[.reason]?.string }

    /// For `bye`: how long to wait before reconnecting.
    public var retryDelay: Duration? { self.milliseconds(.retryMs) }

    /// For a reply to `hold`: the hold's number.
    public var hold: UInt64? { self.number(.hold) }

    /// For a reply to `guard`: the guard's number.
    public var `guard`: UInt64? { self.number(.guard) }

    /// For a question: its number.
    public var ask: UInt64? { self.number(.ask) }

    /// For a question: the state that is to be entered.
    public var destination: NamedState? { self[.to].flatMap { NamedState($0) } }

    /// For a question: how long the daemon waits for the vote.
    public var timeLeft: Duration? { self.milliseconds(.leftMs) }

    /// For a change of a watch for the latest: how many changes were left out before it.
    public var skipped: UInt64? { self.number(.skipped) }

    /// For a reply to `history`: how many changes came before it.
    public var count: UInt64? { self.number(.count) }

    /// For a reply to `history`: whether there are more changes after the last one sent.
    public var hasMore: Bool { self[.more]?.bool ?? false }

    package subscript(_ key: LineKey) -> JSONValue? { self.value[key.name.description] }

    /// How far a search has come: the changes that have been looked at, and all that are to be looked at.
    package var progress: (examined: UInt64, whole: UInt64)? {
        guard self.kind == .other("progress"), let examined = self.number(.examined),
            let whole = self.number(.of)
        else { return nil }
        return (examined, whole)
    }

    /// Whether the machine is what all its hosts have, of a line that says so.
    package var isUp: Bool? { self.kind == .other("shared") ? self["up"]?.bool : nil }

    /// How long ago the newest change was made, by a clock that nobody sets; nil if the daemon does not say.
    package var age: Duration? { self.milliseconds(.ageMs) }

    /// How long the present stay has lasted, by the same clock.
    package var stayAge: Duration? { self.milliseconds(.stayMs) }

    /// Why the last change could not be recorded, so that changes are refused; nil if one can be, as far as is known.
    package var trouble: String? { self[.trouble]?.string }

    /// Whether the machine makes no moves of its own, as it has made too many.
    package var isSuspended: Bool { self[.suspended] != nil }

    /// For how long what is due has been overdue; nil if nothing is that was tried.
    ///
    /// Who denied it is in the `by` of `overdue`, as in a refusal.
    package var overdue: Duration? {
        self[.overdue]?["ms"]?.integer.map { .milliseconds(max(0, $0)) }
    }

    private func number(_ key: LineKey) -> UInt64? {
        self[key]?.integer.flatMap { UInt64(exactly: $0) }
    }

    private func milliseconds(_ key: LineKey) -> Duration? {
        self[key]?.integer.map { .milliseconds(max(0, $0)) }
    }
}

extension Line.Kind {
    fileprivate init(_ type: String) {
        self =
            switch type {
            case "reply": .reply
            case "state": .state
            case "change": .change
            case "live": .live
            case "ask": .ask
            case "declared": .declared
            case "beat": .beat
            case "bye": .bye
            default: .other(type)
            }
    }
}

/// A state as it appears in a line: the case's name, and the associated values by label.
public struct NamedState: Hashable, Sendable {
    /// The case's name.
    public let name: String
    /// The associated values; one without a label is `value`, further ones `value2`, `value3` ….
    public let data: [JSONMember]

    /// The state of that name with those values.
    public init(_ name: String, _ data: [JSONMember] = []) {
        self.name = name
        self.data = data
    }

    init?(_ value: JSONValue) {
        guard let name = value["state"]?.string else { return nil }
        self.init(name, value["data"]?.members ?? [])
    }
}

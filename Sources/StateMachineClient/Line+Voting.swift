extension Line {
    /// For a reply to `hold`: the hold's number.
    public var hold: UInt64? { self.number("hold") }

    /// For a reply to `guard`: the guard's number.
    public var `guard`: UInt64? { self.number("guard") }

    /// For a question: its number.
    public var ask: UInt64? { self.number("ask") }

    /// For a question: the state that is to be entered.
    public var destination: NamedState? { self["to"].flatMap { NamedState($0.value) } }

    /// For a question: how long the daemon waits for the vote.
    public var timeLeft: Duration? {
        self["leftMs"]?.integer.map { .milliseconds(max(0, $0)) }
    }

    /// For a change of a watch for the latest: how many changes were left out before it.
    public var skipped: UInt64? { self.number("skipped") }

    /// For a reply to `history`: how many changes came before it.
    public var count: UInt64? { self.number("count") }

    /// For a reply to `history`: whether there are more changes after the last that was sent.
    public var hasMore: Bool { self["more"]?.bool ?? false }

    private func number(_ key: String) -> UInt64? {
        self[key]?.integer.flatMap { UInt64(exactly: $0) }
    }
}

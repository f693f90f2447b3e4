/// Outcomes to wait for.
package struct WaitCall: Hashable, Sendable {
    package var until: PatternList
    /// Outcomes that fail the wait; they take precedence over `until`.
    package var fail = PatternList([])
    package var since: String?
    /// How long, in milliseconds; nil waits for ever.
    package var timeoutMs: UInt64?
}

extension WaitCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            until: try keys.needed(.until, .wait, keys.patterns(.until)),
            fail: try keys.patterns(.fail) ?? PatternList([]),
            since: try keys.string(.since),
            timeoutMs: try keys.count(.timeoutMs)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.until, self.until)
        members.add(.fail, self.fail)
        members.add(.since, self.since)
        members.add(.timeoutMs, self.timeoutMs)
    }
}

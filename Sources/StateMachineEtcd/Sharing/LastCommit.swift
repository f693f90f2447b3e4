#if Cluster
/// The commit that was sent last, and what has become of it while that is not known.
///
/// A value that decides and does nothing; ``Fence`` is its part that knows no commits.
struct LastCommit: Sendable {
    /// What is known of it by now.
    enum Resolution {
        case happened(Commit)
        /// It was not applied, nor will it be.
        case neverWill
        /// The next look, or the fence that is due, has to say it.
        case open
    }

    private var fence = Fence()
    private var commit: Commit?
    /// The first look that was begun after its answer was lost.
    private var look: UInt64 = 0
    /// The revision of the head at which a fence is to move it.
    private var fenceAt: Int64?

    /// Whether nothing is under way that could still be applied.
    var isOver: Bool { self.fence.isClear }

    /// Whether nobody will say what has become of it.
    var isUnsure: Bool { self.fence.isUnsure }

    /// Whether a look may say what has become of it, or nothing has to be said.
    func permits(_ look: Looks.Look) -> Bool { !self.isUnsure || look.number >= self.look }

    mutating func sent(_ commit: Commit) {
        self.commit = commit
        _ = self.fence.thisHappened(.sent(headRevision: commit.headRevision))
    }

    /// It has been applied, or surely never will be.
    mutating func settled() { _ = self.fence.thisHappened(.settled) }

    /// Its answer was lost, at the limit of the engine's room with `isFull`; `look` is the next one.
    mutating func lost(before look: UInt64, isFull: Bool) {
        self.look = look
        _ = self.fence.thisHappened(isFull ? .lostAtLimit : .lost)
    }

    /// What a read shows of it, which has that head; nil if nothing is in doubt.
    func trace(in reading: SharedReading, _ head: Head) -> Commit.Trace? {
        self.commit?.trace(in: reading, head)
    }

    /// A read has shown that it was applied, or not yet, and that revision of the head.
    ///
    /// - Returns: what is known by now, and whether to look again.
    mutating func seen(isOurs: Bool, headRevision: Int64) -> (Resolution, looksAgain: Bool) {
        switch self.fence.thisHappened(.seen(isOurs: isOurs, headRevision: headRevision)) {
        case .happened:
            guard let commit = self.commit.take() else { return (.open, true) }
            return (.happened(commit), false)
        case .neverWill:
            self.commit = nil
            return (.neverWill, false)
        case .fence(let revision):
            self.fenceAt = revision
            return (.open, false)
        case .look, nil: return (.open, true)
        }
    }

    /// Takes up the fence that is due, if one is: the revision at which it is to move the head.
    mutating func takeFence() -> Int64? {
        guard let revision = self.fenceAt.take() else { return nil }
        _ = self.fence.thisHappened(.fencing)
        return revision
    }

    /// The head was moved by the fence.
    mutating func fenced() {
        _ = self.fence.thisHappened(.fenced)
        self.commit = nil
    }

    /// The fence has moved nothing, or its answer was lost; `look` is the next one.
    mutating func fenceFailed(before look: UInt64) {
        self.look = look
        _ = self.fence.thisHappened(.fenceFailed)
    }

    mutating func disconnected() { self.fenceAt = nil }
}
#endif

package import StateMachineCore

/// Past changes.
package struct HistoryCall: Hashable, Sendable {
    package var since: String?
    /// How many at most; nil leaves that to the daemon.
    package var limit: UInt64?
    package var only: PatternList?
    /// Which end to start from; nil: the oldest.
    package var order: Request.HistoryOrder?
    /// Only what comes after it; for a time: what was made then or later.
    package var after: HistoryPlace?
    /// Only what comes before it.
    package var before: HistoryPlace?
    /// Only changes that this actor requested.
    package var by: Actor?
    /// Only changes whose cause contains this text.
    package var cause: String?
    /// Whether to send an outline of the changes instead of the changes.
    package var isOutline = false
    /// Whether to tell how far a search has come that finds nothing for a while.
    package var reportsProgress = false

    /// Who requested a change.
    package enum Actor: Hashable, Sendable {
        /// The user of that uid.
        case user(UInt32)
        /// A command or a unit of that name.
        case program(String)
    }

    /// The most changes that the daemon sends.
    package var most: UInt64 { self.limit ?? RequestLimits.defaultHistoryChanges }

    /// Whether it requests more than what follows a cursor.
    package var isSearch: Bool {
        self.order == .newest || self.after != nil || self.before != nil || self.by != nil
            || self.cause != nil || self.isOutline || self.reportsProgress
    }
}

extension HistoryPlace {
    /// The moment, if it is one.
    package var time: WallTime? {
        if case .time(let time) = self { time } else { nil }
    }
}

extension HistoryCall {
    /// All changes, the oldest first.
    package static let all = HistoryCall()

    init(_ keys: RequestKeys) throws(WireError) {
        let since = try keys.string(.since)
        let after = try keys.place(.after)
        guard since == nil || after == nil else {
            throw WireError(.badRequest, "since and after exclude each other; give one")
        }
        self.init(
            since: since,
            limit: try keys.count(.limit, atMost: RequestLimits.historyChanges)
                ?? RequestLimits.defaultHistoryChanges,
            only: try keys.patterns(.only),
            order: try keys.choice(.order, of: Request.HistoryOrder.self) == .newest
                ? .newest : nil,
            after: after,
            before: try keys.place(.before),
            by: try keys.actor(.by),
            cause: try keys.text(.cause),
            isOutline: try keys.bool(.outline) ?? false,
            reportsProgress: try keys.bool(.progress) ?? false
        )
        try self.checkOutline()
    }

    /// An outline contains all changes, in order.
    private func checkOutline() throws(WireError) {
        let others: [(RequestKey, Bool)] = [
            (.only, self.only != nil), (.order, self.order == .newest), (.by, self.by != nil),
            (.cause, self.cause != nil),
        ]
        guard self.isOutline, let other = others.first(where: \.1)?.0 else { return }
        throw WireError(
            .badRequest,
            "an outline is of all changes, the oldest first; leave \(other.rawValue) out"
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.since, self.since)
        members.add(.limit, self.limit)
        members.add(.only, self.only)
        members.add(.order, self.order == .newest ? Request.HistoryOrder.newest.rawValue : nil)
        members.add(.after, self.after?.written)
        members.add(.before, self.before?.written)
        switch self.by {
        case .user(let uid): members.add(.by, UInt64(uid))
        case .program(let name): members.add(.by, name)
        case nil: break
        }
        members.add(.cause, self.cause)
        if self.isOutline { members.add(.outline, .bool(true)) }
        if self.reportsProgress { members.add(.progress, .bool(true)) }
    }
}

package import StateMachineCore

/// Changes of the past.
package struct HistoryCall: Hashable, Sendable {
    package var since: String?
    /// At most so many; nil leaves it to the daemon.
    package var limit: UInt64?
    package var only: PatternList?
    /// Which end to begin at; nil: the oldest.
    package var order: Request.HistoryOrder?
    /// Only what comes after it; what was made at a time, or later.
    package var after: HistoryPlace?
    /// Only what comes before it.
    package var before: HistoryPlace?
    /// Only the changes of one who asked for them.
    package var by: Actor?
    /// Only changes in whose cause this text is.
    package var cause: String?
    /// Whether an outline of the changes is wanted, and not they themselves.
    package var isOutline = false

    /// Who asked for a change.
    package enum Actor: Hashable, Sendable {
        /// The user of that uid.
        case user(UInt32)
        /// A command or a unit of that name.
        case program(String)
    }

    /// How many the daemon sends at most.
    package var most: UInt64 { self.limit ?? RequestLimits.defaultHistoryChanges }

    /// Whether it asks for more than what follows a cursor.
    package var isSearch: Bool {
        self.order == .newest || self.after != nil || self.before != nil || self.by != nil
            || self.cause != nil || self.isOutline
    }
}

extension HistoryPlace {
    /// The moment, if it is one.
    package var time: WallTime? {
        if case .time(let time) = self { time } else { nil }
    }
}

extension HistoryCall {
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
            isOutline: try keys.bool(.outline) ?? false
        )
        try self.checkOutline()
    }

    /// An outline has all changes in it, in their order.
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
    }
}

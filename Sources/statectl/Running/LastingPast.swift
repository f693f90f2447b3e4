import StateMachineClient
import StateMachineCore

/// Whether the machine has been in one of some states for that long, by its history.
struct LastingPast: Sendable {
    let client: Client
    let patterns: [Pattern]

    /// Whether it has, without a break; `present` shows one of the states, and was entered `age` ago.
    ///
    /// What was before that is told by the wall clock, as the changes have it.
    ///
    /// It counts as no if that cannot be told, as the daemon has not kept enough.
    ///
    /// - Throws: ``ClientError``.
    func hasLasted(_ present: Line, _ span: Duration, age: Duration) async throws -> Bool {
        guard age < span else { return true }
        guard let seq = present.seq, let at = present.at else { return false }
        let start = WallTime(
            microseconds: max(0, at.microseconds - (span - age).wholeMicroseconds)
        )
        // Where the machine was then: the last change before that has to have led to one of them.
        guard let last = try await self.newest(before: .time(start))?.seq, last < seq,
            try await self.newest(
                only: self.patterns,
                after: .seq(last - 1),
                before: .seq(last + 1)
            )
                != nil
        else { return false }
        for others in self.others {
            let other = try await self.newest(
                only: others,
                after: .seq(last),
                before: .seq(seq + 1)
            )
            if other != nil { return false }
        }
        return true
    }

    /// Patterns for all other states: those that no pattern selects, and those that one excepts.
    private var others: [[Pattern]] {
        let taken = self.patterns.filter(\.isException).map { !$0 }
        let selected = self.patterns.filter { !$0.isException }.map { !$0 }
        return [selected, taken].filter { !$0.isEmpty }
    }

    /// The newest of the changes that are asked for; nil if there is none.
    private func newest(
        only: [Pattern] = [],
        after: HistoryPlace? = nil,
        before: HistoryPlace
    ) async throws -> Line? {
        var found: Line?
        let request = Request.history(
            limit: 1,
            only: only,
            order: .newest,
            after: after,
            before: before
        )
        _ = try await self.client.changes(request) { found = $0 }
        return found
    }
}

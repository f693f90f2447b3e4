import StateMachineCore
import StateMachineHistory
import StateMachineProtocol

/// A history that is searched by reading all of it: what the database's searches have to find.
final class PlainHistory: TransitionHistory {
    private let history: UntypedHistory

    init(_ history: UntypedHistory) { self.history = history }

    var isCurrent: Bool { self.history.isCurrent }
    var epoch: String { self.history.epoch }
    var earlier: [EarlierNumbering] { [] }
    var newest: RecordedTransition? { nil }
    var oldest: UInt64 { 1 }
    var settings: [JSONMember] { [] }

    func record(
        _ group: [Change],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) { done(nil) }

    private func read(
        after seq: UInt64,
        done: @escaping @Sendable (Result<[RecordedTransition], HistoryFailure>) -> Void
    ) { self.history.read(after: seq, done: done) }

    func settle(done: @escaping @Sendable (_ failure: String?) -> Void) { done(nil) }

    func note(
        _ declaration: RecordedDeclaration,
        from seq: UInt64,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) { done(nil) }

    func onTrouble(_ handler: @escaping @Sendable (HistoryWork, String?) -> Void) {}

    /// Reads the first few transitions that a query asks for; there may be none among those
    /// examined.
    ///
    /// It filters what is read without conditions.
    func read(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        let isNewestFirst = query.isNewestFirst
        // 256: less than one read returns, and little to search for a client that wants the newest.
        let start =
            isNewestFirst && query.before > query.after + 257 ? query.before - 257 : query.after
        self.collect([], after: start, until: isNewestFirst ? query.before : nil) { result in
            done(result.map { Self.finding(in: $0, query, after: start) })
        }
    }

    /// Reads what follows `seq`: once, or up to a transition.
    private func collect(
        _ earlier: [RecordedTransition],
        after seq: UInt64,
        until end: UInt64?,
        done: @escaping @Sendable (Result<[RecordedTransition], HistoryFailure>) -> Void
    ) {
        self.read(after: seq) { result in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(let next):
                let all = earlier + next
                guard let end, let last = next.last?.seq, last + 1 < end else {
                    return done(.success(all))
                }
                self.collect(all, after: last, until: end, done: done)
            }
        }
    }

    private static func finding(
        in transitions: [RecordedTransition],
        _ query: TransitionQuery,
        after start: UInt64
    ) -> TransitionFinding {
        var between = transitions.filter { $0.seq > start && $0.seq < query.before }
        if query.isNewestFirst { between.reverse() }
        guard let first = between.first?.seq else { return TransitionFinding(nothingFor: query) }
        between = Array(
            between.enumerated().prefix { index, transition in
                let distance = UInt64(index)
                return transition.seq == (query.isNewestFirst ? first - distance : first + distance)
            }.map(\.element)
        )
        let last = between.last?.seq ?? first
        return TransitionFinding(between.filter(query.wants), first: first, examined: last)
    }

    /// Finds the first recorded transition made at `time` or later; one past `newest` if there is
    /// none.
    ///
    /// A binary search: where the clock was set back in between, there may be earlier ones.
    func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        self.locate(time, between: max(1, self.oldest), and: newest, done: done)
    }

    private func locate(
        _ time: WallTime,
        between first: UInt64,
        and last: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        guard first <= last else { return done(.success(first)) }
        let middle = first + (last - first) / 2
        self.read(after: middle - 1) { result in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(let transitions):
                if let found = transitions.first, found.seq <= last, found.at < time {
                    self.locate(time, between: found.seq + 1, and: last, done: done)
                } else {
                    self.locate(time, between: first, and: middle - 1, done: done)
                }
            }
        }
    }
}

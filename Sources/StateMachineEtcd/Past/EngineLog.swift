#if Cluster
import StateMachineCore
import StateMachineProtocol

/// The machine's log in the engine, read back: all that any host can still be told.
///
/// Guarded state: `known`, behind its lock.
final class EngineLog: Sendable {
    typealias Fetch =
        @Sendable (
            TransactionRequest, @escaping @Sendable (Outcome<TransactionRequest.Answer>) -> Void
        ) -> Void

    private struct Known {
        var epoch: Epoch
        /// The first change that there may be: all before it are gone.
        var oldest: UInt64 = 1
    }

    private let keys: SharedKeys
    private let form: SharedForm
    private let fetch: Fetch
    private let known: Lock<Known>

    /// - Parameters:
    ///   - keys: the machine's.
    ///   - form: how its changes are written.
    ///   - epoch: its numbering, as far as that is known.
    ///   - fetch: asks the engine, and calls back once, from anywhere.
    init(_ keys: SharedKeys, _ form: SharedForm, in epoch: Epoch, fetch: @escaping Fetch) {
        (self.keys, self.form, self.fetch) = (keys, form, fetch)
        self.known = Lock(Known(epoch: epoch))
    }

    /// The machine is in that numbering from now on; how far back its log goes is asked.
    func began(_ epoch: Epoch) {
        self.known.withLock { known in
            if known.epoch != epoch { known = Known(epoch: epoch) }
        }
        self.ask([RangeRequest(self.keys.blocks(of: epoch), limit: 1)]) { result, epoch in
            guard let first = try? result.get().first else { return }
            self.lacks(before: first.first, in: epoch)
        }
    }

    /// The first change that there may be.
    var oldest: UInt64 { self.known.withLock { $0.oldest } }

    /// Finds the first few that a query asks for.
    func read(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        guard query.before > query.after + 1 else {
            return done(.success(TransitionFinding(nothingFor: query)))
        }
        self.ask(
            query.isNewestFirst
                ? self.ranges(before: query.before) : self.ranges(after: query.after)
        ) {
            result,
            epoch in
            done(
                result.map { blocks in
                    let finding = LogPage(blocks, in: self.form).finding(query)
                    if !query.isNewestFirst, finding.first > query.after + 1 {
                        self.lacks(before: finding.first, in: epoch)
                    }
                    return finding
                }
            )
        }
    }

    /// Finds the first change made at a time or later, by a binary search.
    func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        self.locate(time, in: self.oldest..<max(newest + 1, self.oldest), done: done)
    }

    private func locate(
        _ time: WallTime,
        in candidates: Range<UInt64>,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        guard let first = candidates.first else { return done(.success(candidates.upperBound)) }
        let middle = first + UInt64(candidates.count) / 2
        let epoch = self.known.withLock { $0.epoch }
        let range = RangeRequest(
            self.keys.blocks(of: epoch, before: middle + 1),
            limit: 1,
            isDescending: true
        )
        self.ask([range]) { result, _ in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(let blocks):
                // What is gone is older than what is there.
                let found = blocks.first.flatMap { block in
                    zip(block.first..., block.changes).first { $0.0 == middle }
                }
                if let found, found.1.at >= time {
                    self.locate(time, in: first..<middle, done: done)
                } else {
                    self.locate(time, in: middle + 1..<candidates.upperBound, done: done)
                }
            }
        }
    }

    // MARK: - What is asked

    /// The block with the next change, the one before it, which says what that left, and those that follow.
    private func ranges(after seq: UInt64) -> [RangeRequest] {
        let epoch = self.known.withLock { $0.epoch }
        return [
            RangeRequest(
                self.keys.blocks(of: epoch, before: seq + 2),
                limit: 2,
                isDescending: true
            ),
            RangeRequest(self.keys.blocks(of: epoch, from: seq + 2), limit: SharedKeys.page),
        ]
    }

    /// The blocks with the changes before that one, and one more, which says what the first of them left.
    private func ranges(before seq: UInt64) -> [RangeRequest] {
        let epoch = self.known.withLock { $0.epoch }
        return [
            RangeRequest(
                self.keys.blocks(of: epoch, before: seq),
                limit: SharedKeys.page + 1,
                isDescending: true
            )
        ]
    }

    /// Reads blocks, which are passed on in their order, with the numbering that was asked about.
    private func ask(
        _ ranges: [RangeRequest],
        done: @escaping @Sendable (Result<[Block], HistoryFailure>, Epoch) -> Void
    ) {
        let (keys, epoch) = (self.keys, self.known.withLock { $0.epoch })
        self.fetch(TransactionRequest(if: [], then: ranges.map { .range($0) })) { outcome in
            switch outcome {
            case .answered(let answer):
                var blocks: [Block] = []
                for case .range(let range) in answer.results {
                    for entry in range.entries {
                        guard case .block(epoch, let first) = keys.subject(of: entry.key),
                            let block = Block(at: first, entry.value)
                        else { continue }
                        blocks.append(block)
                    }
                }
                done(.success(blocks.sorted { $0.first < $1.first }), epoch)
            case .refused(let refusal): done(.failure(HistoryFailure("\(refusal)")), epoch)
            case .unknown(let doubt): done(.failure(HistoryFailure(doubt.description)), epoch)
            }
        }
    }

    private func lacks(before seq: UInt64, in epoch: Epoch) {
        self.known.withLock { known in
            if known.epoch == epoch { known.oldest = max(known.oldest, seq) }
        }
    }
}
#endif

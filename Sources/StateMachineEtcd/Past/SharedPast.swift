#if Cluster
package import StateMachineCore
package import StateMachineProtocol

/// The past of a machine that several hosts share, as one of them can read it: from its own disk, and what that does not have from the
/// log in the engine.
package final class SharedPast: PastStore {
    private let cache: (any SharedCache)?
    private let log: EngineLog

    package let epoch: Epoch
    package let beginning: Beginning

    /// - Parameters:
    ///   - cache: what this host keeps; nil: nothing.
    ///   - log: the machine's log.
    ///   - isPlaced: whether the machine goes on where this host was.
    ///   - starts: from when on its stays count.
    init(_ cache: (any SharedCache)?, _ log: EngineLog, isPlaced: Bool, by starts: StayStarts) {
        (self.cache, self.log) = (cache, log)
        self.epoch = cache?.left?.epoch ?? .random()
        self.beginning = Beginning(
            newest: isPlaced ? cache?.left?.newest : nil,
            starts: starts
        )
    }

    /// A cursor of another numbering is of no use: the other hosts have gone on without what that had.
    package var earlier: [Cursor] { [] }

    package var oldest: UInt64 {
        let kept = self.kept
        return kept.isEmpty ? self.log.oldest : min(kept.lowerBound, self.log.oldest)
    }

    package var settings: [JSONMember] { self.cache?.settings ?? [] }

    package func onTrouble(
        _ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void
    ) {
        self.cache?.onTrouble(handler)
    }

    private var kept: Range<UInt64> { self.cache?.kept ?? 0..<0 }

    package func read(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        guard query.before > query.after + 1 else {
            return done(.success(TransitionFinding(nothingFor: query)))
        }
        let kept = self.kept
        let next = query.isNewestFirst ? query.before - 1 : query.after + 1
        guard let cache, kept.contains(next) else {
            return self.log.read(query.outside(of: kept), done: done)
        }
        cache.read(query.inside(of: kept)) { result in
            // The disk fails, or lacks what it should have; the log may have it.
            guard case .success(let finding) = result, finding.first == next else {
                return self.log.read(query) { other in
                    guard case .success(let found) = other, found.first == next else {
                        return done(result)
                    }
                    done(other)
                }
            }
            done(result)
        }
    }

    package func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        let kept = self.kept
        guard let cache, !kept.isEmpty, kept.lowerBound <= newest else {
            return self.log.locate(time, upTo: newest, done: done)
        }
        let last = min(newest, kept.upperBound - 1)
        cache.locate(time, upTo: last) { result in
            switch result {
            case .success(kept.lowerBound) where self.log.oldest < kept.lowerBound:
                self.log.locate(time, upTo: kept.lowerBound - 1, done: done)
            case .success(last + 1) where last < newest:
                // What is on its way to the disk is in the log.
                self.log.locate(time, upTo: newest, done: done)
            case .success, .failure: done(result)
            }
        }
    }
}

extension TransitionQuery {
    /// What of it the disk can answer, which has the transition that comes first.
    fileprivate func inside(of kept: Range<UInt64>) -> Self {
        var query = self
        query.after = max(self.after, kept.lowerBound - 1)
        query.before = min(self.before, kept.upperBound)
        return query
    }

    /// What of it comes before the disk has to be asked, which does not have the transition that comes first.
    fileprivate func outside(of kept: Range<UInt64>) -> Self {
        guard !kept.isEmpty else { return self }
        var query = self
        if self.isNewestFirst {
            if kept.upperBound < self.before { query.after = max(self.after, kept.upperBound - 1) }
        } else if self.after + 1 < kept.lowerBound {
            query.before = min(self.before, kept.lowerBound)
        }
        return query
    }
}
#endif

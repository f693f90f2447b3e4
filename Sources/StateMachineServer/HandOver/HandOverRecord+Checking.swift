import StateMachineCore
import StateMachineProtocol

// Whether what a record says is possible: anything may lie in the store under its name, and whoever
// resumes from it calculates with its numbers.

extension HandOverRecord {
    var isPossible: Bool {
        Epoch(self.epoch) != nil && [self.seq, self.lastNumber].allSatisfy(\.isPossible)
            && self.connections.allSatisfy(\.isPossible)
    }
}

extension HandOverRecord.Connection {
    fileprivate var isPossible: Bool {
        // All reply counts are added up.
        self.unsentReplies.isCount && self.outbox.allSatisfy { $0.isPossible(self.watches.count) }
            && self.history?.isPossible ?? true
            && self.watches.allSatisfy { $0.cursor.isPossible && $0.reported.isPossible }
            && self.waits.allSatisfy { $0.leftMs?.isPossible ?? true }
            && (self.holds + self.guards).allSatisfy(\.number.isPossible)
            && [self.resyncs, self.bytes].allSatisfy(\.isPossible)
            && self.program?.isPossible ?? true
    }
}

extension Program {
    /// Whether the kernel and systemd allow such names, which are on every line that it causes.
    fileprivate var isPossible: Bool {
        (self.comm?.utf8.count ?? 0) <= RunningProcess.nameBytes
            && (self.unit?.utf8.count ?? 0) <= ControlGroup.unitBytes
    }
}

extension HandOverRecord.Segment {
    fileprivate func isPossible(_ watches: Int) -> Bool {
        let isMarkPossible =
            switch self.mark {
            // The index past the last stands for a watch that was gone.
            case .start(let index), .end(let index): index >= 0 && index <= watches
            case .history(let history): history.isPossible
            case nil: true
            }
        return self.replies.isCount && isMarkPossible
    }
}

extension HandOverRecord.History {
    fileprivate var isPossible: Bool {
        [self.cursor, self.end, self.count].allSatisfy(\.isPossible)
    }
}

extension UInt64 {
    /// Whether it is one of the protocol's integers.
    fileprivate var isPossible: Bool { self < RequestLimits.integerBound }
}

extension Int {
    /// Whether there can be so many unsent replies.
    ///
    /// 2^32: more than fit into any memory; and the sum of as many as a record can name still fits
    /// into an integer.
    fileprivate var isCount: Bool { self >= 0 && self < 1 << 32 }
}

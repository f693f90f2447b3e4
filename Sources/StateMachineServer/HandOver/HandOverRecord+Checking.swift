import StateMachineCore
import StateMachineProtocol

// Whether what a record says can be: anything may lie in the store under its name, and who goes on with it
// counts with its numbers.

extension HandOverRecord {
    var isPossible: Bool {
        Epoch(self.epoch) != nil && [self.seq, self.lastNumber].allSatisfy(\.isPossible)
            && self.connections.allSatisfy(\.isPossible)
    }
}

extension HandOverRecord.Connection {
    fileprivate var isPossible: Bool {
        // The numbers of all of them are added up.
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
    /// Whether the kernel and systemd have such names; it is on every line that is caused by it.
    fileprivate var isPossible: Bool {
        (self.comm?.utf8.count ?? 0) <= RunningProcess.nameBytes
            && (self.unit?.utf8.count ?? 0) <= ControlGroup.unitBytes
    }
}

extension HandOverRecord.Segment {
    fileprivate func isPossible(_ watches: Int) -> Bool {
        let isMarkPossible =
            switch self.mark {
            // The one past the last is a watch that was gone.
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
    /// Whether there can be so many replies that were not sent.
    ///
    /// 2^32: more than fit into any memory; and as many of them as a record can name stay below what an
    /// integer holds.
    fileprivate var isCount: Bool { self >= 0 && self < 1 << 32 }
}

import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

extension HistoryDatabase {
    /// An outline of the first few transitions between two others.
    func outline(
        after low: UInt64,
        before high: UInt64,
        limit: Int
    ) throws -> TransitionOutline {
        let stay = self.hasStays && self.extent >= .stays ? "stay" : "NULL"
        return try self.read { db in
            let rows = try db.statement(
                """
                SELECT seq, at, state, \(stay) FROM change WHERE seq > ? AND seq < ? \
                ORDER BY seq LIMIT ?
                """
            )
            defer { rows.reset() }
            rows.bind([low, high, limit])
            guard try rows.step() else {
                // One past those requested: nothing is left.
                return TransitionOutline(from: high)
            }
            var seq = UInt64(clamping: rows.integer(0))
            var outline = TransitionOutline(from: seq)
            outline.hasGap = seq > low + 1
            repeat {
                outline.append(
                    rows.bytes(2),
                    at: WallTime(microseconds: rows.integer(1)),
                    isSameStay: !rows.isNull(3) && rows.integer(3) != Int64(seq)
                )
                seq += 1
                // What follows a gap is left to the next query, which reports the gap.
            } while try rows.step() && UInt64(clamping: rows.integer(0)) == seq
            return outline
        }
    }
}

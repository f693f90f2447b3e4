import StateMachineProtocol

/// How often each state was left for which, since the server began: changes that update a state count too.
///
/// Belongs to the event loop.
struct TransitionCounts {
    /// The most pairs that are counted.
    ///
    /// 1,024: a row has some sixty bytes, so that `stats` stays below 64 KiB; a machine's file has rarely a hundred ways.
    private static let most = 1024

    private struct Pair: Hashable {
        let from: Spelling
        let to: Spelling
    }

    /// The rows in the order in which they came, and where in it each pair is.
    private var rows: [(from: String, to: String, count: UInt64)] = []
    private var places: [Pair: Int] = [:]

    mutating func add(from: String, to: String) {
        let pair = Pair(from: Spelling(from), to: Spelling(to))
        if let place = self.places[pair] {
            self.rows[place].count += 1
        } else if self.rows.count < Self.most {
            self.places[pair] = self.rows.count
            self.rows.append((from, to, 1))
        }
    }

    func write(to writer: inout LineWriter) {
        writer.objects("transitions", self.rows) { writer, row in
            writer.string("from", row.from)
            writer.string("to", row.to)
            writer.number("count", row.count)
        }
    }
}

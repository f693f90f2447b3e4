import StateMachineClient
import StateMachineCore

/// A span of the past with the stays that reach into it.
struct PastSpan {
    /// Its ends, in microseconds.
    let start: Int64
    let end: Int64
    let stays: PastStays
    /// Whether the first stay began before the span.
    let hasEarlier: Bool
    /// The state that the first change has left, if that is known and its stay is not among these.
    let origin: String?

    /// The part of a stay that lies in the span; empty if none does.
    func part(of stay: Int) -> Range<Int64> {
        let from = min(max(self.stays.starts[stay], self.start), self.end)
        return from..<max(from, min(self.end(of: stay), self.end))
    }

    /// The whole length of a stay; for the last one, up to the span's end.
    func length(of stay: Int) -> Int64 {
        max(0, self.end(of: stay) - self.stays.starts[stay])
    }

    /// When a stay ended; for the last one the span's end.
    private func end(of stay: Int) -> Int64 {
        stay + 1 < self.stays.count ? self.stays.starts[stay + 1] : self.end
    }

    /// A summary of each state, in the order of the names.
    func summaries() -> [StateSummary] {
        let span = max(1, self.end - self.start)
        var time = [Int64](repeating: 0, count: self.stays.names.count)
        var entered = [Int](repeating: 0, count: self.stays.names.count)
        var longest = [Int64](repeating: 0, count: self.stays.names.count)
        for stay in 0..<self.stays.count {
            let state = Int(self.stays.states[stay])
            // Where clocks were set back stays overlap, and there may be any number of them.
            let (sum, isOver) = time[state].addingReportingOverflow(
                Int64(self.part(of: stay).count)
            )
            time[state] = isOver ? .max : sum
            longest[state] = max(longest[state], self.length(of: stay))
            if stay > 0 || !self.hasEarlier { entered[state] += 1 }
        }
        var lengths = [[Int64]](repeating: [], count: self.stays.names.count)
        // The last one goes on beyond the span.
        for stay in 0..<max(0, self.stays.count - 1) {
            lengths[Int(self.stays.states[stay])].append(self.length(of: stay))
        }
        return self.stays.names.indices.map { state in
            StateSummary(
                name: self.stays.names[state],
                time: time[state],
                share: Double(time[state]) / Double(span),
                entered: entered[state],
                median: lengths[state].median,
                longest: longest[state]
            )
        }
    }

    /// Each state's share of each of that many equal parts of the span: a row for each state.
    func shares(columns: Int) -> [[Double]] {
        let width = Double(max(1, self.end - self.start)) / Double(columns)
        var rows = [[Double]](
            repeating: [Double](repeating: 0, count: columns),
            count: self.stays.names.count
        )
        for stay in 0..<self.stays.count {
            let part = self.part(of: stay)
            guard !part.isEmpty else { continue }
            let state = Int(self.stays.states[stay])
            let from = Double(part.lowerBound - self.start) / width
            let to = Double(part.upperBound - self.start) / width
            let last = min(Int(to), columns - 1)
            for column in min(Int(from), last)...last {
                let covered = min(to, Double(column + 1)) - max(from, Double(column))
                rows[state][column] += max(0, covered)
            }
        }
        return rows
    }
}

/// What there is to say of a state in a span.
struct StateSummary {
    let name: String
    /// How long the machine was in it, in microseconds.
    let time: Int64
    /// The share of the span, from 0 to 1.
    let share: Double
    /// How often it was entered.
    let entered: Int
    /// The median of the stays that are over, in microseconds; nil if there are none.
    let median: Int64?
    /// In microseconds; a stay that goes on counts with what it has lasted so far.
    let longest: Int64
}

extension [Int64] {
    /// The element in the middle, of an even number the lesser of the two; nil if there are none.
    var median: Int64? {
        guard !self.isEmpty else { return nil }
        return self.sorted()[(self.count - 1) / 2]
    }
}

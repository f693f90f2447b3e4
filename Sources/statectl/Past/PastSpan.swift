import Glibc
import StateMachineClient
import StateMachineCore
import StateMachineProtocol

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
        let from = min(max(self.stays.all[stay].start, self.start), self.end)
        return from..<max(from, min(self.end(of: stay), self.end))
    }

    /// The whole length of a stay; for the last one, up to the span's end.
    func length(of stay: Int) -> Int64 { max(0, self.end(of: stay) - self.stays.all[stay].start) }

    /// When a stay ended; for the last one the span's end.
    private func end(of stay: Int) -> Int64 {
        stay + 1 < self.stays.all.count ? self.stays.all[stay + 1].start : self.end
    }

    /// A summary of each state, in the order of the names.
    func summaries() -> [StateSummary] {
        var stays = [[Int]](repeating: [], count: self.stays.names.count)
        for (index, stay) in self.stays.all.enumerated() { stays[stay.state].append(index) }
        return zip(self.stays.names, stays).map { name, own in
            let time = own.reduce(Int64(0)) { sum, stay in
                // Where clocks were set back stays overlap, and there may be any number of them.
                let (time, isOver) = sum.addingReportingOverflow(Int64(self.part(of: stay).count))
                return isOver ? .max : time
            }
            return StateSummary(
                name: name,
                time: time,
                share: Double(time) / Double(max(1, self.end - self.start)),
                entered: own.count { $0 > 0 || !self.hasEarlier },
                // The last one goes on beyond the span.
                median: own.filter { $0 + 1 < self.stays.all.count }.map(self.length).median,
                longest: own.map(self.length).max() ?? 0
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
        for stay in self.stays.all.indices {
            let part = self.part(of: stay)
            guard !part.isEmpty else { continue }
            let state = self.stays.all[stay].state
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

/// The stays of the past, the oldest first: which state was entered when, and by which change.
struct PastStays {
    /// 24 bytes: there may be a million of them.
    struct Stay {
        /// The index of its state in `names`.
        let state: Int
        /// When it began, in microseconds; not always later than the one before, as clocks are set back.
        let start: Int64
        /// The number of the change that began it.
        let seq: UInt64
    }

    /// The names of the states, each once.
    private(set) var names: [String] = []
    private var numbers: [Spelling: Int] = [:]
    private(set) var all: [Stay] = []
    /// The number of changes that were read, including those that began no stay.
    private(set) var changes: UInt64 = 0

    /// The most states.
    ///
    /// 4096: sixteen times what a file may declare; names that a machine has had count too.
    static let mostNames = 4096

    /// Whether there are more states than a machine can have had; those beyond count as the last one.
    private(set) var isTooMany = false

    /// The index of a state in `names`, to which a new one is added.
    private mutating func number(of name: String) -> Int {
        let spelling = Spelling(name)
        if let number = self.numbers[spelling] { return number }
        guard self.names.count < Self.mostNames else {
            self.isTooMany = true
            return Self.mostNames - 1
        }
        self.names.append(name)
        self.numbers[spelling] = self.names.count - 1
        return self.names.count - 1
    }

    /// Adds a stay in the state of that name.
    mutating func enter(_ state: String, at time: Int64, seq: UInt64) {
        self.all.append(Stay(state: self.number(of: state), start: time, seq: seq))
    }

    /// Adds the stays of an outline.
    mutating func take(_ outline: TransitionOutline) {
        let numbers = outline.names.map { self.number(of: $0) }
        for (index, entry) in outline.entries.enumerated() {
            guard let state = entry.state else { continue }
            let seq = outline.first + UInt64(index)
            self.all.append(Stay(state: numbers[state], start: entry.at.microseconds, seq: seq))
        }
        self.changes += UInt64(outline.entries.count)
    }
}

/// What is drawn of a span: stays that are wide enough to be seen or alone in their column, one by
/// one, and the others as their share of the time around them.
struct PictureMarks {
    /// A part of the picture with more stays than can be seen.
    struct Crowd: Equatable {
        /// The pixels that it takes, from the span's beginning.
        var columns: Range<Int>
        /// The state's share of their time, in eighths from 1 to 8.
        let eighths: Int
        /// How many stays begin there.
        var stays: Int
    }

    /// What a column has of a state whose stays are too short to be seen.
    private struct Cell {
        var share = 0.0
        var stays = 0
        var last = 0
    }

    /// The stays that are drawn one by one, in their order.
    private(set) var stays: [Int] = []
    /// The crowds of the other stays, for each state.
    private(set) var crowds: [[Crowd]] = []

    /// - Parameters:
    ///   - span: the span.
    ///   - columns: its width in pixels.
    init(_ span: PastSpan, columns: Int) {
        let width = Double(max(1, span.end - span.start)) / Double(columns)
        var cells = [[Cell]](
            repeating: [Cell](repeating: Cell(), count: columns),
            count: span.stays.names.count
        )
        for stay in span.stays.all.indices {
            let part = span.part(of: stay)
            if Double(part.count) >= width {
                self.stays.append(stay)
                continue
            }
            // It lies in one column, or in two that follow each other, of which the first counts.
            let from = Double(part.lowerBound - span.start) / width
            let column = min(Int(from), columns - 1)
            let state = span.stays.all[stay].state
            cells[state][column].share += Double(part.count) / width
            cells[state][column].stays += 1
            cells[state][column].last = stay
        }
        self.crowds = cells.map(Self.crowds)
        // A stay that is alone can be pointed at, however short it was.
        self.stays += cells.joined().compactMap { $0.stays == 1 ? $0.last : nil }
        self.stays.sort()
    }

    /// Merges neighbours that look the same.
    private static func crowds(_ cells: [Cell]) -> [Crowd] {
        var crowds: [Crowd] = []
        for (column, cell) in cells.enumerated() where cell.stays > 1 {
            let eighths = min(8, max(1, Int((cell.share * 8).rounded())))
            if let last = crowds.last, last.columns.upperBound == column, last.eighths == eighths {
                crowds[crowds.count - 1].columns = last.columns.lowerBound..<column + 1
                crowds[crowds.count - 1].stays += cell.stays
            } else {
                crowds.append(
                    Crowd(columns: column..<column + 1, eighths: eighths, stays: cell.stays)
                )
            }
        }
        return crowds
    }
}

/// The marks of a span of time: round local times, so far apart that their labels have room.
struct TimeAxis {
    struct Mark: Equatable {
        /// In microseconds.
        let time: Int64
        let label: String
    }

    let start: Int64
    let end: Int64
    let isUTC: Bool

    private static let second: Int64 = 1_000_000
    private static let day = 86_400 * Self.second
    /// Milliseconds, then seconds, minutes, hours and days.
    private static let steps: [Int64] =
        [1, 2, 5, 10, 20, 50, 100, 200, 500].map { $0 * 1000 }
        + [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800].map { $0 * Self.second }
        + [1, 2, 3, 6, 12].map { $0 * 3600 * Self.second }
        + [1, 2, 7, 14, 28, 91, 182, 364, 1820, 3640].map { $0 * Self.day }

    /// The marks, at most that many; none if the span is too short for two.
    func marks(atMost count: Int) -> [Mark] {
        guard count > 0, self.end > self.start,
            let step = Self.steps.first(where: { (self.end - self.start) / $0 < Int64(count) })
        else { return [] }
        let offset = self.offset(at: self.start)
        var next = (self.start + offset).dividedRoundingUp(by: step) * step - offset
        var marks: [Mark] = []
        while next <= self.end {
            // Where the clocks are changed in between, days begin at another time.
            let time = step < Self.day ? next : next + offset - self.offset(at: next)
            if let label = self.label(of: time, step: step) {
                marks.append(Mark(time: time, label: label))
            }
            next += step
        }
        return marks
    }

    private func label(of time: Int64, step: Int64) -> String? {
        guard let shown = LocalTime(WallTime(microseconds: time), inUTC: self.isUTC) else {
            return nil
        }
        let clock = shown.time.prefix(12)
        if step >= 182 * Self.day { return String(shown.date.prefix(7)) }
        if step >= Self.day || clock == "00:00:00.000" { return String(shown.date.dropFirst(5)) }
        if step >= 60 * Self.second { return String(clock.prefix(5)) }
        return String(step >= Self.second ? clock.prefix(8) : clock.dropFirst(6))
    }

    /// The microseconds by which local time is ahead of UTC.
    private func offset(at time: Int64) -> Int64 {
        let fields = WallTime(microseconds: time).fields(inUTC: self.isUTC)
        return Int64(fields?.tm_gmtoff ?? 0) * Self.second
    }
}

extension Int64 {
    fileprivate func dividedRoundingUp(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor > 0 ? quotient + 1 : quotient
    }
}

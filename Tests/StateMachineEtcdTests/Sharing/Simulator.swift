#if Cluster
import TestSupport

/// One thread, a clock of its own, and what happens next.
final class Simulator {
    private struct Alarm {
        let time: Int64
        let order: UInt64
        let body: () -> Void

        static func < (left: Alarm, right: Alarm) -> Bool {
            left.time == right.time ? left.order < right.order : left.time < right.time
        }
    }

    /// Microseconds.
    private(set) var now: Int64 = 0
    var generator: SeededGenerator
    /// A heap: the next one is the first.
    private var alarms: [Alarm] = []
    private var count: UInt64 = 0
    /// What happened, as text; nil unless somebody reads it.
    private var lines: [String]?

    init(seed: UInt64, isTold: Bool) {
        self.generator = SeededGenerator(seed: seed)
        self.lines = isTold ? [] : nil
    }

    var text: String { (self.lines ?? []).joined(separator: "\n") }

    func note(_ line: @autoclosure () -> String) {
        guard self.lines != nil else { return }
        let (second, rest) = self.now.quotientAndRemainder(dividingBy: 1_000_000)
        let digits = String(1_000_000 + rest).dropFirst()
        self.lines?.append("\(second).\(digits) \(line())")
    }

    /// Whether something happens that has this chance, of a thousand.
    func happens(_ chance: Int) -> Bool { chance > 0 && self.draw(0..<1000) < Int64(chance) }

    func draw(_ range: Range<Int64>) -> Int64 { Int64.random(in: range, using: &self.generator) }

    func after(_ time: Int64, _ body: @escaping () -> Void) {
        self.count += 1
        self.alarms.append(Alarm(time: self.now + max(0, time), order: self.count, body: body))
        var child = self.alarms.count - 1
        while child > 0, self.alarms[child] < self.alarms[(child - 1) / 2] {
            self.alarms.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Goes on to that time.
    func run(until end: Int64) {
        while let next = self.alarms.first, next.time <= end {
            self.removeFirst()
            self.now = next.time
            next.body()
        }
        self.now = end
    }

    private func removeFirst() {
        self.alarms.swapAt(0, self.alarms.count - 1)
        self.alarms.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < self.alarms.count && self.alarms[child] < self.alarms[least] {
                least = child
            }
            if least == parent { return }
            self.alarms.swapAt(parent, least)
            parent = least
        }
    }
}
#endif

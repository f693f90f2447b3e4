import Glibc
import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// The ring by itself: what it keeps, and that the bytes are correct wherever they are stored.
@Suite struct ChangeRingTests {
    private func changes(_ count: Int) -> [Change] { (1...count).map { self.change($0) } }

    /// Each from a state of its own, which nobody else keeps.
    private func change(_ degrees: Int) -> Change {
        let seq = UInt64(degrees)
        let new = DoorState.open(degrees: degrees).value
        return Change(seq: seq, old: DoorState.closed.value, new: new, at: .now, stay: seq)
    }

    private func text(_ vectors: [iovec]) -> String {
        vectors.map { vector in
            String(
                decoding: UnsafeRawBufferPointer(start: vector.iov_base, count: vector.iov_len),
                as: UTF8.self
            )
        }
        .joined()
    }

    @Test func itKeepsAsManyChangesAsItMay() {
        var ring = ChangeRing(changes: 4, bytes: 1000, after: 0)
        for change in self.changes(10) {
            let line = Array("line \(change.seq)\n".utf8)
            ring.append(change, line: line)
        }
        let head = ring.head
        #expect(head == 10)
        let first = ring.first
        #expect(first == 7)
        let reaches6 = ring.reaches(back: 6)
        #expect(reaches6)
        let reaches5 = ring.reaches(back: 5)
        #expect(!reaches5)
        var vectors: [iovec] = []
        ring.appendSlices(after: 6, through: ring.head, to: &vectors)
        #expect(self.text(vectors) == "line 7\nline 8\nline 9\nline 10\n")
    }

    @Test(arguments: 0..<40 as Range<Int>) func whatLiesAcrossTheEndIsReadInOnePiece(offset: Int) {
        let changes = self.changes(99)
        // A line, and its state as bytes and as values.
        let weight = 9 + 2 * changes[98].length
        var ring = ChangeRing(changes: 100, bytes: 4 * weight, after: 0)
        for change in changes {
            let letter = UInt8(ascii: "A") + UInt8(change.seq % 26)
            ring.append(
                change,
                line: Array(repeating: letter, count: change.seq == 1 ? offset + 1 : 9)
            )
        }
        let first = ring.first
        #expect(first == 96)
        var vectors: [iovec] = []
        ring.appendSlices(after: 95, through: ring.head, to: &vectors)
        #expect(self.text(vectors) == "STUV".map { String(repeating: $0, count: 9) }.joined())
        var part: [iovec] = []
        ring.appendSlices(of: 97, without: 2, 3, to: &part)
        #expect(self.text(part) == "TTTT")
    }

    /// Lines of one, two, three … bytes.
    @Test func aByteIsFoundInItsLine() {
        var ring = ChangeRing(changes: 8, bytes: 100_000, after: 0)
        for change in self.changes(10) {
            ring.append(change, line: Array(repeating: 1, count: Int(change.seq)))
        }
        // Those of 5, 6 and 7 bytes end at 5, 11 and 18.
        let found = [0, 4, 5, 10, 11, 17].map { ring.line(at: $0, after: 4) }
        #expect(found.map(\.seq) == [5, 5, 6, 6, 7, 7])
        #expect(found.map(\.end) == [5, 5, 11, 11, 18, 18])
        let last = ring.line(at: 44, after: 4)
        #expect(last.seq == 10 && last.end == 45)
    }

    @Test func howFullItIsCountsFromAReadersPlace() {
        var ring = ChangeRing(changes: 8, bytes: 100_000, after: 0)
        var full: [String] = []
        for change in self.changes(10) {
            ring.append(change, line: [1])
            full.append(
                [2, 3].map { ring.isFull(toQuarters: $0, after: 1) ? "\($0)" : "" }.joined()
            )
        }
        #expect(full == ["", "", "", "", "", "2", "2", "23", "23", "23"])
        let isFull = ring.isFull(toQuarters: 2, after: 10)
        #expect(!isFull)
    }

    /// One that is not reached any more is let go, however many changes may be kept.
    @Test func itKeepsNoStateWhoseLineIsGone() {
        var ring = ChangeRing(changes: 4096, bytes: 10_000, after: 0)
        var states: [Weak] = []
        for degrees in 1...1000 {
            let change = self.change(degrees)
            states.append(Weak(value: change.new))
            ring.append(change, line: Array(repeating: 1, count: 100))
        }
        let (first, head) = (ring.first, ring.head)
        let alive = states.filter { $0.value != nil }.count
        #expect(alive == Int(head - first + 1))
        #expect(first > 900)
    }

    /// The state counts too: it may be larger than its line.
    @Test func aStateCountsAmongTheBytes() {
        let changes = self.changes(2)
        let both = changes.reduce(0) { $0 + 10 + 2 * $1.length }
        for (bytes, kept) in [(both, 2), (both - 1, 1)] {
            var ring = ChangeRing(changes: 4, bytes: bytes, after: 0)
            for change in changes { ring.append(change, line: Array(repeating: 1, count: 10)) }
            let first = ring.first
            #expect(first == UInt64(3 - kept))
        }
    }

    private struct Weak {
        weak var value: AnyObject?
    }

    @Test func aLineLongerThanTheRingIsMissedNotCut() {
        var ring = ChangeRing(changes: 4, bytes: 10, after: 0)
        let changes = self.changes(2)
        ring.append(changes[0], line: Array(repeating: 1, count: 11))
        let (head, reaches0) = (ring.head, ring.reaches(back: 0))
        #expect(head == 1)
        #expect(!reaches0)
        ring.append(changes[1], line: Array("x\n".utf8))
        let (first, reaches1) = (ring.first, ring.reaches(back: 1))
        #expect(reaches1)
        #expect(first == 2)
    }

    @Test func anEmptyRingReachesBackToWhereItBegan() {
        let ring = ChangeRing(changes: 4, bytes: 10, after: 41)
        let head = ring.head
        #expect(head == 41)
        let reaches41 = ring.reaches(back: 41)
        #expect(reaches41)
        let reaches40 = ring.reaches(back: 40)
        #expect(!reaches40)
    }
}

extension ChangeRing {
    fileprivate mutating func append(_ change: Change, line: [UInt8]) {
        line.withUnsafeBytes { self.append(change, ofBytes: change.length, line: $0) }
    }
}

extension Change {
    /// How long its state is as JSON.
    fileprivate var length: Int { doors.schema.encoded(self.new).fragment.count }
}

private let doors = StateCoding<DoorState>()

import Glibc
import StateMachineCore
import StateMachineWire
import Testing

@testable import StateMachineServer

/// The ring by itself: what it keeps, and that the bytes are the right ones wherever they lie.
@Suite
struct ChangeRingTests {
    private func transitions(_ count: Int) -> [Transition<DoorState>] {
        let machine = StateMachine(DoorState.closed)
        var made: [Transition<DoorState>] = []
        for degrees in 1...count {
            guard
                case .committed(let transition)? = try? machine.propose(.open(degrees: degrees))
            else { continue }
            made.append(transition)
        }
        return made
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

    @Test
    func itKeepsAsManyChangesAsItMay() {
        var ring = ChangeRing<DoorState>(changes: 4, bytes: 1000, after: 0)
        for transition in self.transitions(10) {
            let line = Array("line \(transition.seq)\n".utf8)
            ring.append(transition, data: .null, line: line)
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
        ring.appendSlices(after: 6, to: &vectors)
        #expect(self.text(vectors) == "line 7\nline 8\nline 9\nline 10\n")
    }

    @Test(arguments: 0..<40 as Range<Int>)
    func whatLiesAcrossTheEndIsReadInOnePiece(offset: Int) {
        var ring = ChangeRing<DoorState>(changes: 100, bytes: 40, after: 0)
        let transitions = self.transitions(8)
        var lengths = transitions.map { $0.seq == 1 ? offset + 1 : 9 }
        lengths[0] = min(lengths[0], 40)
        for (transition, length) in zip(transitions, lengths) {
            let letter = UInt8(ascii: "a") + UInt8(transition.seq)
            ring.append(transition, data: .null, line: Array(repeating: letter, count: length))
        }
        let first = ring.first
        #expect(first == 5)
        var vectors: [iovec] = []
        ring.appendSlices(after: 4, to: &vectors)
        #expect(
            self.text(vectors)
                == "fghi".map { String(repeating: $0, count: 9) }.joined()
        )
        var part: [iovec] = []
        ring.appendSlices(of: ring[6], without: 2, 3, to: &part)
        #expect(self.text(part) == "gggg")
    }

    @Test
    func aLineLongerThanTheRingIsMissedNotCut() {
        var ring = ChangeRing<DoorState>(changes: 4, bytes: 10, after: 0)
        let transitions = self.transitions(2)
        ring.append(transitions[0], data: .null, line: Array(repeating: 1, count: 11))
        let (head, reaches0) = (ring.head, ring.reaches(back: 0))
        #expect(head == 1)
        #expect(!reaches0)
        ring.append(transitions[1], data: .null, line: Array("x\n".utf8))
        let (first, reaches1) = (ring.first, ring.reaches(back: 1))
        #expect(reaches1)
        #expect(first == 2)
    }

    @Test
    func anEmptyRingReachesBackToWhereItBegan() {
        let ring = ChangeRing<DoorState>(changes: 4, bytes: 10, after: 41)
        let head = ring.head
        #expect(head == 41)
        let reaches41 = ring.reaches(back: 41)
        #expect(reaches41)
        let reaches40 = ring.reaches(back: 40)
        #expect(!reaches40)
    }
}

import StateMachineCore
import StateMachineProtocol

extension TransitionOutline {
    /// How far a time may be from 1970, in microseconds: 9,000 years, so that no sum of two is too great.
    private static let farthest: UInt64 = 1 << 58

    /// The outline in a line; nil if the line has none, or one that cannot be.
    init?(_ line: Line) {
        guard line.kind == .other("outline"), let first = line.seq, let begin = line.at,
            let names = line["states"]?.elements?.map({ $0.string ?? "?" }),
            let numbers = line["changes"]?.elements, numbers.count.isMultiple(of: 2)
        else { return nil }
        self.init(from: first, names: names)
        var time = begin.microseconds
        for index in stride(from: 0, to: numbers.count, by: 2) {
            guard let state = numbers[index].integer, let span = numbers[index + 1].integer,
                state < names.count
            else { return nil }
            let (next, isOver) = time.addingReportingOverflow(span)
            guard !isOver, next.magnitude < Self.farthest else { return nil }
            time = next
            self.append(
                Entry(state: state < 0 ? nil : Int(state), at: WallTime(microseconds: time))
            )
        }
    }
}

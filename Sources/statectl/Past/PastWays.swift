import StateMachineDeclaration

extension PastSpan {
    /// How often each way from one state to another was taken, and the median of the stays that ended that way.
    func ways() -> [DrawingWay: (count: Int, median: String?)] {
        var lengths: [UInt32: [Int64]] = [:]
        for stay in self.stays.states.indices.dropLast() {
            let (from, to) = (self.stays.states[stay], self.stays.states[stay + 1])
            lengths[UInt32(from) << 16 | UInt32(to), default: []].append(self.length(of: stay))
        }
        var ways: [DrawingWay: (count: Int, median: String?)] = [:]
        for (way, lengths) in lengths {
            let names = (self.stays.names[Int(way >> 16)], self.stays.names[Int(way & 0xFFFF)])
            ways[DrawingWay(from: names.0, to: names.1)] = (
                lengths.count, SpanText.text(lengths.median ?? 0)
            )
        }
        // The first change ended a stay of unknown length.
        if let origin, let first = self.stays.states.first {
            let way = DrawingWay(from: origin, to: self.stays.names[Int(first)])
            ways[way] = ((ways[way]?.count ?? 0) + 1, ways[way]?.median)
        }
        return ways
    }
}

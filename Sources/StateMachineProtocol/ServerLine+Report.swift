package import StateMachineCore

extension ServerLine {
    /// A state, where it stands in the order, and since when.
    package struct Report: Sendable {
        package let seq: UInt64
        /// What ``StateCoding/fragment(of:)`` makes of the state.
        package let fragment: [UInt8]
        package let at: WallTime
        package let epoch: Epoch

        package init(seq: UInt64, fragment: [UInt8], at: WallTime, epoch: Epoch) {
            self.seq = seq
            self.fragment = fragment
            self.at = at
            self.epoch = epoch
        }
    }
}

extension LineWriter {
    /// `seq`, `state`, `data`, `at` and `cursor`.
    mutating func report(_ report: ServerLine.Report) {
        self.place(of: report)
        self.time("at", report.at)
        self.cursor("cursor", Cursor(epoch: report.epoch, seq: report.seq))
    }

    /// `seq`, `state` and `data`.
    mutating func place(of report: ServerLine.Report) {
        self.number("seq", report.seq)
        self.text(",")
        self.raw(report.fragment)
    }
}

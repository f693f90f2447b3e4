import StateMachineCore
import StateMachineProtocol

extension ServerLine.Report {
    /// A state of the stock type at that seq, in the epoch and about the time of all examples.
    init(_ seq: UInt64, _ state: AppState) throws {
        let coding = StateCoding<AppState>()
        guard let epoch = Epoch("7f3a9c") else { throw NoEpoch() }
        self.init(
            seq: seq,
            fragment: coding.fragment(of: state),
            at: .example(seq),
            epoch: epoch
        )
    }

    private struct NoEpoch: Error {}
}

extension WallTime {
    /// The time of the change of that seq in all examples.
    static func example(_ seq: UInt64) -> WallTime {
        WallTime(microseconds: 1_795_211_703_120_007 + Int64(seq) * 1_000_000)
    }
}

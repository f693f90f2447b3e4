import StateMachineCore
import StateMachineProtocol

extension ServerLine.Report {
    /// A stock state at that seq, with the epoch and the time that all examples use.
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

    /// A declared state that time will change three hours after its entry.
    static func playing() throws -> ServerLine.Report {
        guard let epoch = Epoch("7f3a9c") else { throw NoEpoch() }
        let at = WallTime.example(42)
        return ServerLine.Report(
            seq: 7,
            fragment: Array(
                #""state":"playing","data":{"title":"Nosferatu","volume":40}"#.utf8
            ),
            at: at,
            epoch: epoch,
            stay: ServerLine.Stay(
                seq: 7,
                due: ServerLine.Due(
                    fragment: Array(#""state":"menu","data":{}"#.utf8),
                    at: WallTime(microseconds: at.microseconds + 3 * 3_600_000_000)
                )
            )
        )
    }

    /// The state that followed when the command of that stay had ended.
    static func menu() throws -> ServerLine.Report {
        guard let epoch = Epoch("7f3a9c") else { throw NoEpoch() }
        let at = WallTime.example(43)
        return ServerLine.Report(
            seq: 8,
            fragment: Array(#""state":"menu","data":{}"#.utf8),
            at: at,
            epoch: epoch,
            stay: ServerLine.Stay(
                seq: 8,
                due: ServerLine.Due(
                    fragment: Array(#""state":"attract","data":{}"#.utf8),
                    at: WallTime(microseconds: at.microseconds + 120_000_000)
                )
            )
        )
    }

    private struct NoEpoch: Error {}
}

extension WallTime {
    /// The time of the change with that seq in all examples.
    static func example(_ seq: UInt64) -> WallTime {
        WallTime(microseconds: 1_795_211_703_120_007 + Int64(seq) * 1_000_000)
    }
}

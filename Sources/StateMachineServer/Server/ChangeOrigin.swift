import StateMachineCore
import StateMachineProtocol

/// Who brought a machine to its state, and why, as far as that is known.
struct ChangeOrigin {
    private(set) var by: Peer?
    private(set) var cause: String?

    init(by: Peer? = nil, cause: String? = nil) {
        self.by = by
        self.cause = cause
    }
}

extension HistoryReader {
    /// Reads from the history who made a change, and why.
    ///
    /// - Parameters:
    ///   - seq: the change.
    ///   - uid: the user whose turn the read takes.
    ///   - done: called on the event loop, if the change is available.
    func readOrigin(
        of seq: UInt64,
        for uid: UInt32,
        done: @escaping @Sendable (_ by: Peer?, _ cause: String?) -> Void
    ) {
        self.read(after: seq - 1, for: uid) { transitions in
            (transitions.first?.by, transitions.first?.cause)
        } done: { finding in
            guard let (by, cause) = finding.following(seq - 1) else { return }
            done(by, cause)
        }
    }
}

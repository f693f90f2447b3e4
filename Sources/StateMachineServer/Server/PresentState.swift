import StateMachineCore
import StateMachineProtocol

/// The machine's state at the ring's head, and, as far as known, who brought it there and why.
///
/// Belongs to the event loop.
struct PresentState {
    private(set) var snapshot: EncodedSnapshot
    private var origin = ChangeOrigin()
    /// When the present stay began; nil if that was before this run.
    private(set) var began: WallTime?

    init(_ snapshot: EncodedSnapshot) {
        self.snapshot = snapshot
        self.began = snapshot.beginsStay ? snapshot.at : nil
    }

    /// Who brought it there.
    var by: Peer? { self.origin.by }

    /// Enters a state; returns what was left.
    mutating func enter(
        _ entered: EncodedSnapshot,
        by: Peer?,
        cause: String?
    ) -> EncodedSnapshot {
        let left = exchange(&self.snapshot, with: entered)
        self.origin = ChangeOrigin(by: by, cause: cause)
        if entered.beginsStay { self.began = entered.at }
        return left
    }

    /// Notes that the present stay's deadline has begun anew.
    mutating func renewed(_ stay: ServerLine.Stay) {
        guard self.snapshot.stay?.seq == stay.seq else { return }
        self.snapshot.stay = stay
    }

    /// Replaces the snapshot after a redeclaration, unless the machine has moved on.
    mutating func showAgain(_ snapshot: EncodedSnapshot) {
        guard self.snapshot.seq == snapshot.seq else { return }
        self.snapshot = snapshot
    }

    /// Notes who made the change `seq`, and why, unless the machine has moved on.
    mutating func learned(_ by: Peer?, _ cause: String?, of seq: UInt64) {
        guard self.snapshot.seq == seq else { return }
        self.origin = ChangeOrigin(by: by, cause: cause)
    }

    /// Writes who made the change `seq`, and why, if that is the current one.
    func writeOrigin(of seq: UInt64, to writer: inout LineWriter) {
        guard seq == self.snapshot.seq else { return }
        if let by = self.origin.by { writer.peer(.by, by) }
        if let cause = self.origin.cause { writer.string(.cause, cause) }
    }
}

extension EncodedSnapshot {
    /// Whether the stay began with it.
    fileprivate var beginsStay: Bool { self.stay.map { $0.seq == self.seq } ?? true }

    /// The report of the snapshot as lines show it.
    func report(in epoch: Epoch) -> ServerLine.Report {
        ServerLine.Report(
            seq: self.seq,
            fragment: self.state.fragment,
            at: self.at,
            epoch: epoch,
            stay: self.stay
        )
    }
}

import StateMachineCore
import StateMachineProtocol

/// Where the machine is, as far as the ring knows, who brought it there, and why, as far as that is known.
///
/// Belongs to the event loop.
struct PresentState {
    private(set) var snapshot: EncodedSnapshot
    private var origin = ChangeOrigin()

    init(_ snapshot: EncodedSnapshot) {
        self.snapshot = snapshot
    }

    /// Who brought it there.
    var by: Peer? { self.origin.by }

    /// A state was entered; returns what was left.
    mutating func enter(
        _ entered: EncodedSnapshot,
        by: CompactPeer?,
        cause: String?
    ) -> EncodedSnapshot {
        let left = exchange(&self.snapshot, with: entered)
        self.origin.note(by, cause: cause)
        return left
    }

    /// The deadline of the present stay has begun anew.
    mutating func renewed(_ stay: ServerLine.Stay) {
        guard self.snapshot.stay?.seq == stay.seq else { return }
        self.snapshot.stay = stay
    }

    /// The machine looks as it did, and what is known of it is another, unless it has moved on.
    mutating func showAgain(_ snapshot: EncodedSnapshot) {
        guard self.snapshot.seq == snapshot.seq else { return }
        self.snapshot = snapshot
    }

    /// It is known now who brought the machine to that place, and why; too late if it has moved on.
    mutating func learned(_ by: Peer?, _ cause: String?, of seq: UInt64) {
        guard self.snapshot.seq == seq else { return }
        self.origin = ChangeOrigin(by: by, cause: cause)
    }

    /// Writes who brought the machine to that place, and why, if it is where it is now.
    func writeOrigin(of seq: UInt64, to writer: inout LineWriter) {
        guard seq == self.snapshot.seq else { return }
        if let by = self.origin.by { writer.peer(.by, by) }
        if let cause = self.origin.cause { writer.string(.cause, cause) }
    }
}

extension EncodedSnapshot {
    /// How the machine looked at that place in the order.
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

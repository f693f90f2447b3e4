import Dispatch
import Logging
import StateMachineCore
import StateMachineWire

/// Writes one line into the log for each transition: the daemon's story.
///
/// On a queue of its own, since whoever reads the log may be slow. What gathers meanwhile is bounded;
/// what is left out is said.
final class TransitionLogger<State: MachineState>: Sendable {
    private let receptionist: Receptionist<State>

    /// Transitions that may wait to be logged.
    ///
    /// 4096: as many as the ring keeps by default. Not tuned.
    private static var capacity: Int { 4096 }

    init(of machine: StateMachine<State>, logger: Logger) {
        let coding = StateCoding<State>()
        self.receptionist = Receptionist(
            of: machine,
            selecting: { $0 },
            on: .queue(DispatchQueue(label: "statemachine.log")),
            screening: .here,
            keeping: Self.capacity,
            task: { batch in
                if batch.dropped > 0 {
                    logger.warning(
                        "the log was too slow, going on with the newest transitions",
                        metadata: ["missed": "\(batch.dropped)"]
                    )
                }
                for transition in batch.values {
                    logger.info(
                        "\(CataloguedMessage.transition.rawValue)",
                        metadata: Self.metadata(of: transition, coding)
                    )
                }
            }
        )
    }

    private static func metadata(
        of transition: Transition<State>,
        _ coding: StateCoding<State>
    ) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "seq": "\(transition.seq)",
            "state": "\(coding.text(of: transition.new))",
            "from": "\(coding.text(of: transition.old))",
        ]
        if let by = transition.by { metadata["by"] = "uid \(by.uid) pid \(by.pid)" }
        // As JSON: a client's words must not be taken for a line of the log.
        if let cause = transition.cause {
            metadata["cause"] = "\([JSONValue.string(cause)].listed)"
        }
        return metadata
    }
}

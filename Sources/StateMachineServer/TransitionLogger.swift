import Logging
import StateMachineCore
import StateMachineWire

/// Writes one line into the log for each transition: the daemon's story.
final class TransitionLogger<State: MachineState>: StateDelegate {
    private let logger: Logger
    private let coding = StateCoding<State>()

    init(logger: Logger) {
        self.logger = logger
    }

    func stateChanged(_ transition: Transition<State>) {
        var metadata: Logger.Metadata = [
            "seq": "\(transition.seq)",
            "state": "\(self.coding.text(of: transition.new))",
            "from": "\(self.coding.text(of: transition.old))",
        ]
        if let by = transition.by { metadata["by"] = "uid \(by.uid) pid \(by.pid)" }
        if let cause = transition.cause { metadata["cause"] = "\(cause)" }
        self.logger.info("transition", metadata: metadata)
    }
}

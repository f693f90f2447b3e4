import Dispatch
import Logging
import StateMachineCore
import StateMachineWire
import Systemd

/// Keeps the service manager's one line about the service current: `authentication(phase: active),
/// seq 42`.
///
/// It runs on a queue of its own, because the manager may be slow to take it, and of a burst of
/// transitions it reports the last.
final class StatusReporter<State: MachineState>: Sendable {
    private let receptionist: Receptionist<State>

    init(of machine: StateMachine<State>, notifier: ServiceNotifier, logger: Logger) {
        let coding = StateCoding<State>()
        let report = { @Sendable (state: State, seq: UInt64) in
            do {
                try notifier.status("\(coding.text(of: state)), seq \(seq)")
            } catch {
                logger.debug("status not reported, going on", metadata: ["error": "\(error)"])
            }
        }
        let queue = DispatchQueue(label: "statemachine.status")
        self.receptionist = Receptionist(
            of: machine,
            selecting: { $0 },
            on: .queue(queue),
            screening: .here,
            delivering: .latest,
            keeping: 1,
            task: { batch in
                if let last = batch.values.last { report(last.new, last.seq) }
            }
        )
        let start = self.receptionist.start
        queue.async { report(start.state, start.seq) }
    }
}

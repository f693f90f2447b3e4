import Dispatch
import Logging
import NIOCore
import StateMachineWire
import Systemd

/// Keeps the service manager's one line about the service current: `authentication(phase: active),
/// seq 42`.
///
/// It sends from a queue of its own, because the manager may be slow to take it; one line is under way
/// at a time, and of what changes meanwhile the last is reported.
///
/// `@unchecked Sendable`: its variables are touched on `loop` only.
final class StatusReporter: @unchecked Sendable {
    /// The least time between two lines.
    ///
    /// A tenth of a second: each costs a thread's wake-up here and one in the manager, and people who
    /// look at it do not look more often.
    private static let interval = TimeAmount.milliseconds(100)

    private let queue = DispatchQueue(label: "statemachine.status")
    private let loop: any EventLoop
    private let notifier: ServiceNotifier
    private let logger: Logger
    private var newest: EncodedSnapshot?
    private var reported: UInt64?
    /// Why nothing can be set.
    private var trouble: String?
    private var isBusy = false

    init(on loop: any EventLoop, notifier: ServiceNotifier, logger: Logger) {
        self.loop = loop
        self.notifier = notifier
        self.logger = logger
    }

    /// Reports the state, at once or when the last line is a while ago.
    func changed(to snapshot: EncodedSnapshot) {
        self.newest = snapshot
        self.report()
    }

    /// Reports why nothing can be set, or, with nil, that it can be again.
    func troubled(by why: String?) {
        self.trouble = why
        self.reported = nil
        self.report()
    }

    private func report() {
        guard !self.isBusy, let newest, newest.seq != self.reported else { return }
        self.isBusy = true
        self.reported = newest.seq
        let trouble = self.trouble
        self.queue.async {
            self.send(newest, trouble)
            self.loop.execute {
                self.loop.assumeIsolated().scheduleTask(in: Self.interval) {
                    self.isBusy = false
                    self.report()
                }
            }
        }
    }

    private func send(_ snapshot: EncodedSnapshot, _ trouble: String?) {
        let text = StateText.text(name: snapshot.state.name, data: snapshot.state.data)
        let reason = trouble.map { "; changes are refused: \($0)" } ?? ""
        do {
            try self.notifier.status("\(text), seq \(snapshot.seq)\(reason)")
        } catch {
            self.logger.debug("status not reported, going on", metadata: ["error": "\(error)"])
        }
    }
}

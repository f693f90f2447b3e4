import Dispatch
import Logging
import NIOCore
import StateMachineWire
import Systemd

/// Keeps the service manager's one line about the service current: `authentication(phase: active),
/// seq 42, 3 watches`.
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
    private var watches = 0
    /// Why nothing can be set.
    private var trouble: String?
    private var reported: String?
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

    /// Reports how many watches there are.
    func changed(watches: Int) {
        self.watches = watches
        self.report()
    }

    /// Reports why nothing can be set, or, with nil, that it can be again.
    func troubled(by why: String?) {
        self.trouble = why
        self.report()
    }

    private func report() {
        guard !self.isBusy, let text = self.text, text != self.reported else { return }
        self.isBusy = true
        self.reported = text
        self.queue.async {
            self.send(text)
            self.loop.execute {
                self.loop.assumeIsolated().scheduleTask(in: Self.interval) {
                    self.isBusy = false
                    self.report()
                }
            }
        }
    }

    private var text: String? {
        guard let newest else { return nil }
        let state = StateText.text(name: newest.state.name, data: newest.state.data)
        let watches = "\(self.watches) watch\(self.watches == 1 ? "" : "es")"
        let trouble = self.trouble.map { "; changes are refused: \($0)" } ?? ""
        return "\(state), seq \(newest.seq), \(watches)\(trouble)"
    }

    private func send(_ text: String) {
        do {
            try self.notifier.status(text)
        } catch {
            self.logger.debug("status not reported, going on", metadata: ["error": "\(error)"])
        }
    }
}

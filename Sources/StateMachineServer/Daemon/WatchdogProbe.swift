import Dispatch
import Logging
import NIOCore
import Synchronization

/// Tells the service manager that the daemon is alive, for as long as a turn of the event loop gets
/// through the machine and back, and the log answers.
///
/// A loop that hangs does not come round to it, a machine that hangs does not let it by, and while the log
/// has had the same group for as long as the manager waits, nobody's set is answered; each way the manager
/// hears nothing, and acts. A log that answers is alive, however late, and whatever it says.
final class WatchdogProbe: Sendable {
    private let task: RepeatedTask

    /// Probes twice in `interval`, which is what the manager waits for (`WatchdogSec=`).
    ///
    /// `ping` tells the manager; it may block, and is called on a queue of its own.
    init(
        of server: StateServer,
        within interval: Duration,
        logger: Logger,
        ping: @escaping @Sendable () throws -> Void
    ) {
        let pinger = Pinger(send: ping, logger: logger)
        let half = TimeAmount(interval / 2)
        let wait = NIOLoopBoundBox.makeBoxSendingValue(LogWait(), eventLoop: server.loop)
        self.task = server.loop.scheduleRepeatedTask(initialDelay: .zero, delay: half) { _ in
            server.catchUp()
            switch wait.value.probed(server.machine.groupUnderWay) {
            case .answers: pinger.ping()
            case .isSilent: break
            case .fellSilent: pinger.complain()
            }
        }
    }

    /// How long the log has had the same group.
    private struct LogWait {
        enum Finding {
            case answers
            /// It has had the group for as long as the manager waits: from now on, and still.
            case fellSilent
            case isSilent
        }

        private var group: UInt64?
        private var probes = 0

        /// The group that it has at this probe.
        mutating func probed(_ group: UInt64?) -> Finding {
            self.probes = group == nil || group != self.group ? 0 : self.probes + 1
            self.group = group
            // Two probes after the one that saw it first the manager's time has passed.
            if self.probes < 2 { return .answers }
            return self.probes == 2 ? .fellSilent : .isSilent
        }
    }

    func cancel() { self.task.cancel() }

    /// Sends the pings from a queue of its own, one at a time: the manager may be slow to take one.
    private final class Pinger: Sendable {
        private let isPinging = Atomic<Bool>(false)
        private let queue = DispatchQueue(label: "statemachine.watchdog")
        private let send: @Sendable () throws -> Void
        private let logger: Logger

        init(send: @escaping @Sendable () throws -> Void, logger: Logger) {
            self.send = send
            self.logger = logger
        }

        func complain() {
            self.queue.async {
                self.logger.critical(
                    "the write-ahead log does not answer, leaving the daemon to the watchdog"
                )
            }
        }

        func ping() {
            guard !self.isPinging.exchange(true, ordering: .sequentiallyConsistent) else { return }
            self.queue.async {
                do {
                    try self.send()
                } catch {
                    self.logger.warning(
                        "the watchdog was not told, going on",
                        metadata: ["error": "\(error)"]
                    )
                }
                self.isPinging.store(false, ordering: .sequentiallyConsistent)
            }
        }
    }
}

import Dispatch
import Logging
import NIOCore
import StateMachineCore
import Synchronization

/// Tells the service manager that the daemon is alive, while loop, machine and log respond.
///
/// A hung loop does not get round to it, a hung machine does not let it through, and while the log
/// has had the same group for as long as the manager waits, nobody's set is answered; in each case
/// the manager hears nothing, and acts. A log that answers is alive, however late, and whatever it
/// says.
final class WatchdogProbe: Sendable {
    private let task: RepeatedTask

    /// Probes twice in `interval`, which is how long the manager waits (`WatchdogSec=`).
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
            case 0, 1: pinger.ping()
            // Two probes after the first that saw the group, the manager's time is up.
            case 2: pinger.complain()
            default: break
            }
        }
    }

    /// How long the log has had the same group.
    private struct LogWait {
        private var group: UInt64?
        private var probes = 0

        /// Notes the group that the log has at this probe; returns at how many before this one it had the same.
        mutating func probed(_ group: UInt64?) -> Int {
            self.probes = group == nil || group != self.group ? 0 : self.probes + 1
            self.group = group
            return self.probes
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
                    "the history's writer does not answer, so the watchdog is no longer notified and will end the daemon"
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
                        "the watchdog could not be notified, continuing",
                        metadata: ["error": "\(error)"]
                    )
                }
                self.isPinging.store(false, ordering: .sequentiallyConsistent)
            }
        }
    }
}

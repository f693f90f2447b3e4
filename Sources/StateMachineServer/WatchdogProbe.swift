import Dispatch
import Logging
import NIOCore
import Synchronization

/// Tells the service manager that the daemon is alive, for as long as a turn of the event loop gets
/// through the machine and back.
///
/// A loop that hangs does not come round to it, and a machine that hangs does not let it by; either way
/// the manager hears nothing, and acts.
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
        self.task = server.loop.scheduleRepeatedTask(initialDelay: .zero, delay: half) { _ in
            server.catchUp()
            pinger.ping()
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

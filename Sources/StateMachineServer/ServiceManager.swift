import Dispatch
import Logging
import Systemd

/// The service manager, as far as the daemon waits for it to take what it is told.
struct ServiceManager: Sendable {
    let notifier = ServiceNotifier()
    let logger: Logger

    /// How long it is waited for, in seconds.
    ///
    /// 1: a manager that does not read must not keep the daemon from starting or stopping. Picked.
    private static let patience = 1

    /// Tells it something, and waits for it to take that, but not for ever.
    func tell(
        _ what: String,
        _ body: @escaping @Sendable (ServiceNotifier) throws -> Void
    ) async {
        let (told, isTold) = AsyncStream.makeStream(of: Void.self)
        DispatchQueue(label: "statemachine.notify").async {
            do {
                try body(self.notifier)
            } catch {
                self.logger.warning(
                    "the service manager was not told, going on",
                    metadata: ["what": "\(what)", "error": "\(error)"]
                )
            }
            isTold.finish()
        }
        DispatchQueue(label: "statemachine.patience").asyncAfter(
            deadline: .now() + .seconds(Self.patience)
        ) { isTold.finish() }
        for await _ in told {}
    }
}

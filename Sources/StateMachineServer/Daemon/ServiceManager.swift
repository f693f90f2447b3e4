import Dispatch
import Logging
import Systemd

/// Talks to the service manager, and waits for a limited time until it takes what it is told.
struct ServiceManager: Sendable {
    let notifier = ServiceNotifier()
    let logger: Logger

    /// How long to wait for it.
    ///
    /// 1 s: a manager that does not read must not keep the daemon from starting or stopping. Picked.
    private static let timeout = Duration.seconds(1)

    /// Tells it something, and waits for it to take that, but not for ever.
    func tell(
        _ what: String,
        _ body: @escaping @Sendable (ServiceNotifier) throws -> Void
    ) async {
        _ = await self.ask(what, for: Self.timeout, body)
    }

    /// Talks to it on a thread that nobody else needs, and waits for the answer.
    ///
    /// - Parameters:
    ///   - what: for the log.
    ///   - timeout: how long to wait for it.
    ///   - body: talks to it; may block, and go on when nobody waits any more.
    /// - Returns: what `body` returned; nil if it threw, which is logged, or did not end in time.
    func ask<Answer: Sendable>(
        _ what: String,
        for timeout: Duration,
        _ body: @escaping @Sendable (ServiceNotifier) throws -> Answer
    ) async -> Answer? {
        let (answers, isAnswered) = AsyncStream.makeStream(of: Answer.self)
        DispatchQueue(label: "statemachine.notify").async {
            do {
                isAnswered.yield(try body(self.notifier))
            } catch {
                self.logger.warning(
                    "the service manager was not told, going on",
                    metadata: ["what": "\(what)", "error": "\(error)"]
                )
            }
            isAnswered.finish()
        }
        DispatchQueue(label: "statemachine.timeout").asyncAfter(
            deadline: .now() + .milliseconds(Int(timeout / .milliseconds(1)))
        ) { isAnswered.finish() }
        for await answer in answers { return answer }
        return nil
    }
}

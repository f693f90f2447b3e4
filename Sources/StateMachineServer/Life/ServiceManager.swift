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
    func tell(_ what: String, _ body: @escaping @Sendable (ServiceNotifier) throws -> Void) async {
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
                    "the service manager could not be notified; if that lasts, it takes the daemon for hung and restarts it",
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

/// The time that a unit gives a service to start (`TimeoutStartSec=`).
public enum StartTimeout {
    /// What to ask for each time: three times ``intervalSeconds``, so that a message or two may
    /// come late.
    private static let grant = Duration.seconds(30)
    private static let intervalSeconds = 10

    /// Runs `body`, which may take long, and makes the service manager wait for it.
    ///
    /// This is for work before the service is ready, such as reading a large history.
    public static func extended<Result>(while body: () throws -> Result) rethrows -> Result {
        let notifier = ServiceNotifier()
        guard notifier.isHeard else { return try body() }
        let queue = DispatchQueue(label: "statemachine.start")
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let interval = DispatchTimeInterval.seconds(Self.intervalSeconds)
        // A manager that does not listen does not wait either; the READY=1 that follows reports it.
        let ask = { @Sendable in _ = try? notifier.extendTimeout(by: Self.grant) }
        // At once, not by the timer, which might fire after READY=1 or not at all.
        ask()
        timer.schedule(deadline: .now() + interval, repeating: interval)
        timer.setEventHandler(handler: ask)
        timer.activate()
        defer { timer.cancel() }
        return try body()
    }
}

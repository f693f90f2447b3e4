import Dispatch
import Systemd

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

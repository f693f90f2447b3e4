import Dispatch
import Glibc
import StateMachineRunner

/// The signals that a runner heeds, as they come.
///
/// `@unchecked Sendable`: the sources are made once, and never touched again.
final class Signals: @unchecked Sendable {
    private static let meanings: [(CInt, RunnerSignal)] = [
        (SIGTERM, .stop), (SIGINT, .stop), (SIGUSR2, .leave), (SIGHUP, .reread),
    ]

    let stream: AsyncStream<RunnerSignal>
    private let sources: [any DispatchSourceSignal]

    /// From here on none of them ends the process.
    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: RunnerSignal.self)
        let queue = DispatchQueue(label: "statemachine-runner.signals")
        self.stream = stream
        self.sources = Self.meanings.map { number, meaning in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { continuation.yield(meaning) }
            source.activate()
            return source
        }
    }
}

public import Logging
import StateMachineCore
import Systemd

/// The least level that is logged, for all loggers that share it; it may change while they are used.
public final class LogThreshold: Sendable {
    private let guarded: Lock<Logger.Level>

    /// A threshold that begins at `level`.
    public init(_ level: Logger.Level) { self.guarded = Lock(level) }

    /// Messages below it are not logged.
    public var level: Logger.Level {
        get { self.guarded.withLock { $0 } }
        set { self.guarded.withLock { $0 = newValue } }
    }
}

extension Logger {
    /// Makes a service's logger.
    ///
    /// It writes to the journal, with fields, if that is where stderr leads, else to stderr; from a
    /// thread of its own, so that whoever logs never waits for a reader. What a reader leaves
    /// unread for long is left out, which is reported.
    ///
    /// - Parameters:
    ///   - label: who logs; the journal's `SYSLOG_IDENTIFIER=`.
    ///   - threshold: what is logged, unless a copy of the logger is given a level of its own.
    /// - Returns: the logger.
    public static func service(label: String, threshold: LogThreshold) -> Logger {
        Logger(label: label) { label in
            let output = LogOutput.standardError
            let stderr = StreamLogHandler(label: label, stream: LogLines(to: output))
            guard Journal.isStandardError else {
                return ThresholdLogHandler(base: stderr, threshold: threshold)
            }
            return ThresholdLogHandler(
                base: JournalLogHandler(label: label, output: output, fallback: stderr),
                threshold: threshold
            )
        }
    }
}

/// Logs what a shared threshold lets through.
struct ThresholdLogHandler: LogHandler {
    private var base: any LogHandler
    private let threshold: LogThreshold
    private var own: Logger.Level?

    init(base: any LogHandler, threshold: LogThreshold) {
        self.base = base
        self.base.logLevel = .trace
        self.threshold = threshold
    }

    var logLevel: Logger.Level {
        get { self.own ?? self.threshold.level }
        set { self.own = newValue }
    }

    var metadata: Logger.Metadata {
        get { self.base.metadata }
        set { self.base.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.base[metadataKey: key] }
        set { self.base[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) { self.base.log(event: event) }
}

/// The levels of swift-log, as they are spelled on the command line.
package enum LogLevel: String, CaseIterable, Sendable {
    case trace
    case debug
    case info
    case notice
    case warning
    case error
    case critical

    package var level: Logger.Level { Logger.Level(rawValue: self.rawValue) ?? .info }
}

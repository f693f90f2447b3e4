import Logging
import StateMachineCore

/// Writes the log into the journal as entries with fields.
///
/// Each key of the metadata becomes a field, such as `STATEMACHINE_SEQ=` for `seq`; the message
/// shows them too, for people. Messages of ``CataloguedMessage`` have a `MESSAGE_ID=` by which the
/// journal explains them.
struct JournalLogHandler: LogHandler {
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    private let label: String
    private let output: LogOutput
    private let fallback: any LogHandler

    /// A handler that passes to `fallback` what the journal does not take.
    init(label: String, output: LogOutput, fallback: any LogHandler) {
        self.label = label
        self.output = output
        self.fallback = fallback
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }
        let fields = Self.fields(event.level, "\(event.message)", metadata, label: self.label)
        let fallback = self.fallback
        self.output.write(.journal(fields) { fallback.log(event: event) })
    }

    /// The entry's fields, without anything that a terminal would obey.
    static func fields(
        _ level: Logger.Level,
        _ message: String,
        _ metadata: Logger.Metadata,
        label: String
    ) -> [(name: String, value: String)] {
        let facts = metadata.sorted { $0.key < $1.key }
            .map { (key: $0.key, value: "\($0.value)".printable) }
        let text = ([message.printable] + facts.map { "\($0.key)=\($0.value)" }).joined(
            separator: " "
        )
        var fields: [(name: String, value: String)] = [
            ("MESSAGE", text),
            ("PRIORITY", "\(Self.priority(of: level))"),
            ("SYSLOG_IDENTIFIER", label),
        ]
        if let id = CataloguedMessage(rawValue: message)?.id { fields.append(("MESSAGE_ID", id)) }
        return fields + facts.map { ("STATEMACHINE_\(Self.fieldName($0.key))", $0.value) }
    }

    /// The level of syslog(3) that means the same.
    private static func priority(of level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    private static func fieldName(_ key: String) -> String {
        String(key.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }
}

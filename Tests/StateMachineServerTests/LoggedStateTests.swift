import Logging
import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineServer

@Suite struct LoggedStateTests {
    private struct Entries: LogHandler {
        let heard: Recorder<Logger.Metadata>
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) { self.heard.record(event.metadata ?? [:]) }
    }

    @Test func aLongStateIsCutInTheLog() throws {
        let heard = Recorder<Logger.Metadata>()
        let logger = Logger(label: "test") { _ in Entries(heard: heard) }
        let text = String(repeating: "é", count: 30_000)
        let states = ["old", "new"].map {
            RecordedTransition.State(name: $0, data: "{\"text\":\"\(text)\"}")
        }
        logger.log(RecordedTransition(seq: 7, old: states[0], new: states[1], at: .now))
        let entry = try #require(heard.heard.first)
        for (key, name) in [("state", "new"), ("from", "old")] {
            let logged = try #require(entry[key]).description
            #expect(logged.hasPrefix("\(name)(text: ") && logged.hasSuffix("…"))
            #expect(logged.unicodeScalars.count == 1025)
        }
    }
}

import Metrics
import StateMachineProtocol

/// What the server has done since it began, for `stats` and for whatever metrics system the program
/// has set up.
///
/// Belongs to the event loop.
struct ServerCounters {
    /// One count, kept here and reported to the metrics system now and then.
    struct Counted {
        private(set) var value: UInt64 = 0
        private var reported: UInt64 = 0
        private let counter: Counter

        init(_ label: String) {
            self.counter = Counter(label: label)
        }

        mutating func add(_ count: Int = 1) {
            self.value += UInt64(count)
        }

        mutating func report() {
            guard self.value > self.reported else { return }
            self.counter.increment(by: Int64(self.value - self.reported))
            self.reported = self.value
        }
    }

    /// Tells the metrics system what has been counted since the last time.
    mutating func report() {
        self.changes.report()
        self.requests.report()
        self.refusals.report()
        self.accepted.report()
        self.turnedAway.report()
        self.resyncs.report()
        self.bytes.report()
        self.writes.report()
    }

    var changes = Counted("statemachine_changes_total")
    var requests = Counted("statemachine_requests_total")
    var refusals = Counted("statemachine_refusals_total")
    var accepted = Counted("statemachine_connections_accepted_total")
    var turnedAway = Counted("statemachine_connections_turned_away_total")
    var resyncs = Counted("statemachine_resyncs_total")
    var bytes = Counted("statemachine_sent_bytes_total")
    /// System calls that sent something.
    var writes = Counted("statemachine_writes_total")

    var transitions = TransitionCounts()

    var json: JSONValue {
        .object([
            JSONMember("changes", .integer(self.changes.value)),
            JSONMember("requests", .integer(self.requests.value)),
            JSONMember("refusals", .integer(self.refusals.value)),
            JSONMember("accepted", .integer(self.accepted.value)),
            JSONMember("turnedAway", .integer(self.turnedAway.value)),
            JSONMember("resyncs", .integer(self.resyncs.value)),
            JSONMember("bytes", .integer(self.bytes.value)),
            JSONMember("writes", .integer(self.writes.value)),
        ])
    }
}

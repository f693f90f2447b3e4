import Metrics
import StateMachineProtocol

/// What the server has done since it began, for `stats` and for whatever metrics system the program
/// has set up.
///
/// Belongs to the event loop.
struct ServerCounters {
    /// One count, kept here and reported to the metrics system now and then.
    private struct Counted {
        private(set) var value: UInt64 = 0
        private var reported: UInt64 = 0
        private let counter: Counter

        init(_ label: String) {
            self.counter = Counter(label: label)
        }

        mutating func add(_ count: Int) {
            self.value += UInt64(count)
        }

        mutating func report() {
            guard self.value > self.reported else { return }
            self.counter.increment(by: Int64(self.value - self.reported))
            self.reported = self.value
        }
    }

    /// What is counted.
    enum Kind: Int, CaseIterable {
        case changes, requests, refusals, accepted, turnedAway, resyncs
        /// Bytes that were sent, and system calls that sent something.
        case bytes, writes

        /// What `stats` calls it.
        fileprivate var key: String { "\(self)" }

        /// What it is called for the metrics system.
        fileprivate var label: String {
            switch self {
            case .changes, .requests, .refusals, .resyncs, .writes: "statemachine_\(self)_total"
            case .accepted: "statemachine_connections_accepted_total"
            case .turnedAway: "statemachine_connections_turned_away_total"
            case .bytes: "statemachine_sent_bytes_total"
            }
        }
    }

    private var all = Kind.allCases.map { Counted($0.label) }
    var transitions = TransitionCounts()

    mutating func add(_ kind: Kind, _ count: Int = 1) { self.all[kind.rawValue].add(count) }

    /// Tells the metrics system what has been counted since the last time.
    mutating func report() {
        for index in self.all.indices { self.all[index].report() }
    }

    var json: JSONValue {
        .object(
            Kind.allCases.map { JSONMember($0.key, .integer(self.all[$0.rawValue].value)) }
        )
    }
}

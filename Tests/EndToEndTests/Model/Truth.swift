import Foundation
import TestSupport

/// The states that a walk sets, by number, written as in the lines and in the requests.
enum WalkState {
    static let fragments: [String] =
        [#""state":"ready","data":{"value":false}"#, #""state":"ready","data":{"value":true}"#]
        + ["authentication", "dataRetrieval"].flatMap { name in
            ["idle", "active", "success", "failure"].map {
                #""state":"\#(name)","data":{"phase":"\#($0)"}"#
            }
        }

    /// A list of patterns, and the numbers of the states that they match.
    struct Patterns {
        let json: [String]
        let matches: Set<Int>
    }

    static let patterns = [
        Patterns(json: [#""ready""#], matches: [0, 1]),
        Patterns(
            json: [#""authentication:phase=active""#, #""ready:value=true""#],
            matches: [3, 1]
        ),
        Patterns(json: [#""dataRetrieval""#], matches: [6, 7, 8, 9]),
        Patterns(json: [#"{"state":"authentication","data":{"phase":"failure"}}"#], matches: [5]),
    ]

    private static let numbers = Dictionary(
        uniqueKeysWithValues: Self.fragments.enumerated().map { ($1, $0) }
    )

    /// The number of the state that comes first in a line, compared byte for byte.
    static func number(in line: some StringProtocol) throws -> Int {
        guard let start = line.range(of: #""state":"#)?.lowerBound,
            let end = line[start...].firstIndex(of: "}"),
            let number = Self.numbers[String(line[start...end])]
        else { throw TestFailure("no state in \(line)") }
        return number
    }
}

/// What the daemon has done, in order, as its most faithful reader heard it.
///
/// Another reader may hear of a change before the faithful one has read it, so its claims are
/// evaluated when both have got that far.
struct Truth {
    struct Change {
        let state: Int
        /// The number of the set that made it.
        let set: Int?
    }

    /// Indexed by seq.
    private(set) var changes = [Change(state: 0, set: nil)]
    private var claims: [(seq: Int, evaluate: (Truth) throws -> Void)] = []

    var head: Int { self.changes.count - 1 }

    mutating func append(_ change: Change, seq: Int) throws {
        guard seq == self.head + 1 else {
            throw TestFailure("the reader that always reads was told \(seq) after \(self.head)")
        }
        self.changes.append(change)
    }

    /// Evaluates a claim that depends on the changes up to `seq`, as soon as they are known.
    mutating func claim(upTo seq: Int, _ evaluate: @escaping (Truth) throws -> Void) throws {
        if seq <= self.head {
            try evaluate(self)
        } else {
            self.claims.append((seq, evaluate))
        }
    }

    mutating func settle() throws {
        guard !self.claims.isEmpty else { return }
        let due = self.claims.filter { $0.seq <= self.head }
        self.claims = self.claims.filter { $0.seq > self.head }
        for claim in due { try claim.evaluate(self) }
    }

    /// Whether every claim has been evaluated.
    var isSettled: Bool { self.claims.isEmpty }

    /// How many changes after `low` and before `high` lead to one of the states.
    func count(of states: Set<Int>, after low: Int, before high: Int) -> Int {
        guard low + 1 < high else { return 0 }
        return self.changes[(low + 1)..<high].count { states.contains($0.state) }
    }

    func expect(_ state: Int, at seq: Int, _ line: String) throws {
        guard self.changes[seq].state == state else {
            throw TestFailure("seq \(seq) was another state: \(line)")
        }
    }
}

/// What the answer to a set has to agree with.
struct SetVerdict {
    let number: Int
    let state: Int
    let ifSeq: Int?
    let ifState: Set<Int>?
    let reenter: Bool

    /// Guarantee 3, and what `ifSeq` and `ifState` promise.
    func evaluate(_ line: JSONLine, _ truth: inout Truth) throws {
        guard let seq = line.seq else { throw TestFailure("no seq: \(line)") }
        let text = "\(line)"
        switch (line.ok, line.bool("changed"), line.error) {
        case (true, true, nil):
            try self.expect(self.ifSeq ?? seq - 1 == seq - 1, text)
            try truth.claim(upTo: seq) { truth in
                let (before, after) = (truth.changes[seq - 1], truth.changes[seq])
                try self.expect(after.set == self.number && after.state == self.state, text)
                try self.expect(self.ifState?.contains(before.state) ?? true, text)
                try self.expect(self.reenter || before.state != after.state, text)
            }
        case (true, false, nil):
            try self.expect(!self.reenter && self.ifSeq ?? seq == seq, text)
            try truth.claim(upTo: seq) { truth in
                try self.expect(truth.changes[seq].state == self.state, text)
                try self.expect(self.ifState?.contains(self.state) ?? true, text)
            }
        case (false, nil, "conflict"):
            try truth.claim(upTo: seq) { truth in
                let isOther = self.ifState.map { !$0.contains(truth.changes[seq].state) } ?? false
                try self.expect(isOther || self.ifSeq.map { $0 != seq } ?? false, text)
            }
        default:
            throw TestFailure("no answer to a set: \(line)")
        }
    }

    private func expect(_ isSo: Bool, _ line: String) throws {
        guard isSo else { throw TestFailure("set \(self.number) was not to be answered \(line)") }
    }
}

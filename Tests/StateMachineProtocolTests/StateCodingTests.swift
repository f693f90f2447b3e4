import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@Suite("A state on the wire") struct StateCodingTests {
    private let app = StateCoding<AppState>()
    private let job = StateCoding<Job>()
    private let gauge = StateCoding<Gauge>()

    @Test(
        "is its case's name and its values by label",
        arguments: [
            (.ready(false), #""state":"ready","data":{"value":false}"#),
            (.authentication(.active), #""state":"authentication","data":{"phase":"active"}"#),
            (.dataRetrieval(.failure), #""state":"dataRetrieval","data":{"phase":"failure"}"#),
        ] as [(AppState, String)]
    )
    func isNameAndData(_ state: AppState, _ fragment: String) throws {
        #expect(self.app.fragment(of: state) == Array(fragment.utf8))
        try self.expectSame(state, self.app)
    }

    @Test(
        "has every shape of data",
        arguments: [
            (.idle, "{}"),
            (.queued(-3), #"{"value":-3}"#),
            (.paired(1, "a/b"), #"{"value":1,"value2":"a/b"}"#),
            (.maybe(nil), "{}"),
            (.maybe(true), #"{"value":true}"#),
            (
                .running(
                    id: .max,
                    ratio: 0.5,
                    tags: ["x", "y\n"],
                    owner: Job.Owner(name: "ann", uid: nil, groups: [1, 2]),
                    note: nil
                ),
                #"{"id":18446744073709551615,"ratio":0.5,"tags":["x","y\n"],"#
                    + #""owner":{"name":"ann","groups":[1,2]}}"#
            ),
            (
                .running(
                    id: 0,
                    ratio: -1e-7,
                    tags: [],
                    owner: Job.Owner(name: "", uid: 7),
                    note: ""
                ),
                #"{"id":0,"ratio":-1e-07,"tags":[],"#
                    + #""owner":{"name":"","uid":7,"groups":[]},"note":""}"#
            ),
            (.stopped(reason: .asked, level: .high), #"{"reason":"asked","level":10}"#),
            (
                .failed(before: 2, kind: .disk, retries: 3),
                #"{"before":2,"kind":"disk","retries":3}"#
            ),
            (.failed(before: 2, kind: .network, retries: nil), #"{"before":2,"kind":"network"}"#),
            (.coded(.gone), #"{"value":410}"#),
            (.ended(.disk, after: 3), #"{"value":"disk","after":3}"#),
            (.ended(nil, after: 3), #"{"after":3}"#),
        ] as [(Job, String)]
    )
    func hasEveryShapeOfData(_ state: Job, _ data: String) throws {
        #expect(self.job.data(of: state).text == data)
        try self.expectSame(state, self.job)
    }

    @Test(
        "holds integers of every width to their ends",
        arguments: [
            .signed(i8: .min, i16: .min, i32: .min, i64: .min),
            .signed(i8: .max, i16: .max, i32: .max, i64: .max),
            .unsigned(u8: .max, u16: .max, u32: .max, u64: .max),
            .unsigned(u8: 0, u16: 0, u32: 0, u64: 0),
            .real(single: 0.1, double: 0.1),
            .real(single: .greatestFiniteMagnitude, double: .greatestFiniteMagnitude),
            .real(single: .leastNonzeroMagnitude, double: -.leastNonzeroMagnitude),
            .real(single: 16_777_216, double: 1e300),
        ] as [Gauge]
    )
    func holdsNumbersToTheirEnds(_ state: Gauge) throws {
        try self.expectSame(state, self.gauge)
    }

    @Test("shows a number that JSON cannot write as null, and does not take that back")
    func showsNonFiniteNumbersAsNull() {
        for double in [Double.infinity, -.infinity, .nan] {
            let state = Gauge.real(single: Float(double), double: double)
            #expect(self.gauge.data(of: state).text == #"{"single":null,"double":null}"#)
            let error = #expect(throws: WireError.self) {
                try self.gauge.state("real", data: self.gauge.data(of: state))
            }
            #expect(error?.code == .badData)
        }
    }

    @Test("takes members in any order, null for what is optional, and numbers in any spelling")
    func takesMembersInAnyOrder() throws {
        #expect(
            try self.job.state("paired", data: JSONValue(reading: #"{"value2":"b","value":4}"#))
                == .paired(4, "b")
        )
        #expect(
            try self.job.state("maybe", data: JSONValue(reading: #"{"value":null}"#)) == .maybe(nil)
        )
        #expect(try self.job.state("maybe", data: nil) == .maybe(nil))
        #expect(try self.job.state("idle", data: nil) == .idle)
        #expect(try self.job.state("idle", data: JSONValue(reading: "{}")) == .idle)
        #expect(
            try self.gauge.state("real", data: JSONValue(reading: #"{"single":1,"double":10e-1}"#))
                == .real(single: 1, double: 1)
        )
    }

    @Test("takes fields that stand after one whose values its type does not list")
    func takesFieldsAfterAnUnlistedOne() throws {
        let data = try JSONValue(reading: #"{"retries":5,"kind":"disk","before":1}"#)
        #expect(
            try self.job.state("failed", data: data) == .failed(before: 1, kind: .disk, retries: 5)
        )
        let null = try JSONValue(reading: #"{"retries":null,"kind":"disk","before":1}"#)
        #expect(
            try self.job.state("failed", data: null)
                == .failed(before: 1, kind: .disk, retries: nil)
        )
    }

    @Test("has equal bytes if it is equal, in whatever order it was put together")
    func hasEqualBytesIfEqual() throws {
        let coding = StateCoding<Bag>()
        var generator = SeededGenerator(seed: 7)
        let numbers = Array(0..<20)
        let states = (0..<20).map { capacity -> Bag in
            var counts: [String: Int] = [:]
            // Another capacity gives another order.
            counts.reserveCapacity(capacity * 16)
            var tags: Set<String> = []
            var weights: [Double: String] = [:]
            for number in numbers.shuffled(using: &generator) {
                counts["k\(number)"] = number
                tags.insert("t\(number)")
                weights[Double(number)] = "w\(number)"
            }
            return .holding(counts: counts, tags: tags, weights: weights)
        }
        #expect(Set(states).count == 1)
        #expect(Set(states.map { coding.fragment(of: $0) }).count == 1)
        for state in states { try self.expectSame(state, coding) }
        let small = Bag.holding(
            counts: ["b": 1, "a": 2],
            tags: ["y", "x"],
            weights: [2: "", 1: "a"]
        )
        #expect(
            coding.data(of: small).text
                == #"{"counts":{"a":2,"b":1},"tags":["x","y"],"weights":[1.0,"a",2.0,""]}"#
        )
    }

    @Test("is shown to people without JSON's punctuation") func isShownToPeople() {
        #expect(self.app.text(of: .ready(true)) == "ready(true)")
        #expect(self.app.text(of: .authentication(.active)) == "authentication(phase: active)")
        #expect(self.job.text(of: .idle) == "idle")
        #expect(self.job.text(of: .paired(1, "a b")) == "paired(value: 1, value2: \"a b\")")
        #expect(self.job.text(of: .paired(1, "")) == "paired(value: 1, value2: \"\")")
        // Text that could pass for another value is quoted.
        #expect(self.job.text(of: .paired(1, "null")) == "paired(value: 1, value2: \"null\")")
        #expect(self.job.text(of: .paired(1, "42")) == "paired(value: 1, value2: \"42\")")
    }

    /// Expects that a written state is read as the same state, and written the same again.
    private func expectSame<State: EnumState>(_ state: State, _ coding: StateCoding<State>) throws {
        let text = "{\(String(decoding: coding.fragment(of: state), as: UTF8.self))}"
        let json = try JSONValue(reading: text)
        let name = try #require(json["state"]?.string)
        let back = try coding.state(name, data: json["data"])
        #expect(back == state)
        #expect(coding.fragment(of: back) == coding.fragment(of: state))
    }
}

extension StateCoding {
    fileprivate func text(of state: State) -> String {
        StateText.text(name: state.name.rawValue, data: self.data(of: state))
    }
}

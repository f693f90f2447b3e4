import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import TestSupport
import Testing

/// What queries find.
@Suite(.bounded) struct SearchTests {
    /// Runs `body` with a history of 3,000 changes, several pieces, from three causes and two
    /// users.
    private func run(
        _ body: @Sendable (UntypedHistory, [RecordedTransition]) async throws -> Void
    ) async throws {
        try await withHistory { history, path in
            try other(
                path,
                """
                WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 3000)
                INSERT INTO change (seq, at, state, data, fromState, fromData, uid, pid, cause,
                    comm, unit)
                SELECT seq, seq / 2 * 1000000, iif(seq % 2, 'authentication', 'ready'),
                    iif(seq % 2, '{"phase":"active"}', '{"value":true}'),
                    iif(seq % 2, 'ready', 'authentication'),
                    iif(seq % 2, '{"value":true}', '{"phase":"active"}'),
                    iif(seq % 100, 1000, 1001), 4711, iif(seq % 7, 'step ' || seq, NULL),
                    iif(seq % 3, 'tool', NULL), iif(seq % 5, NULL, 'user@1.service/x.service') FROM n
                """
            )
            // Rows of either kind: most do not repeat what the one before them has.
            let all = try await history.all(after: 0)
            let isLeft = "seq > 1 AND seq % 3"
            try other(path, "UPDATE change SET fromState = NULL, fromData = NULL WHERE \(isLeft)")
            #expect(try await history.all(after: 0) == all)
            try await body(history.history, all)
        }
    }

    @Test func aQueryFindsWhatIsThereInItsOrder() async throws {
        try await self.run { history, all in
            #expect(all.count == 3000)
            var generator = SeededGenerator(seed: 17)
            for _ in 1...60 {
                let ends = [
                    Int.random(in: 0...3000, using: &generator),
                    .random(in: 0...3001, using: &generator),
                ]
                var query = TransitionQuery(
                    after: UInt64(ends.min() ?? 0),
                    before: UInt64(ends.max() ?? 0),
                    isNewestFirst: .random(using: &generator)
                )
                if Int.random(in: 0..<3, using: &generator) == 0 { query.origin.uid = 1001 }
                if Int.random(in: 0..<3, using: &generator) == 0 { query.origin.cause = "p 1" }
                query.origin.program =
                    [nil, nil, "tool", "x.service", "user@1.service/x.service", "none"]
                    .randomElement(using: &generator) ?? nil
                query.only =
                    [
                        nil, ["ready", "away"], ["ready:value=true"],
                        ["ready:value=false", "!ready"],
                    ]
                    .randomElement(using: &generator)?.map { [PatternList($0)] }
                let between = all.filter { $0.seq > query.after && $0.seq < query.before }
                let wanted = between.filter(query.wants)
                let expected = query.isNewestFirst ? wanted.reversed() : wanted
                let found = try await history.found(query)
                #expect(found == expected, "\(query)")
            }
        }
    }

    @Test func theNewestAreFoundWithoutLookingAtTheOthers() async throws {
        try await self.run { history, _ in
            let query = TransitionQuery(after: 0, before: 3001, isNewestFirst: true)
            let finding = try await history.next(query)
            #expect(finding.transitions.first?.seq == 3000)
            #expect(finding.examined > 2400 && finding.first == 3000)
            #expect(finding.transitions.count == Int(3001 - finding.examined))
        }
    }

    @Test func aTimeIsFoundByHalving() async throws {
        try await self.run { history, all in
            for second in [-1, 0, 1, 700, 701, 1499, 1500, 1501] as [Int64] {
                let time = WallTime(microseconds: second * 1_000_000)
                let expected = all.first { $0.at >= time }?.seq ?? 3001
                let place = try await history.place(of: time, upTo: 3000)
                #expect(place == expected)
            }
            let last = WallTime(microseconds: 2_000_000_000)
            let place = try await history.place(of: last, upTo: 20)
            #expect(place == 21)
        }
    }

    @Test func ofARowThatIsNotWantedNothingElseIsRead() async throws {
        try await withHistory { history, path in
            try await history.makeMachine().change(9)
            let wanted = try await history.all(after: 0).filter { $0.new.data.contains("true") }
            try other(
                path,
                """
                UPDATE change SET at = -1, fromData = '[' WHERE data = '{"value":false}'
                """
            )
            var query = TransitionQuery(after: 0, before: 10)
            query.only = [PatternList(["ready:value=true"])]
            let found = try await history.history.found(query)
            #expect(found == wanted && found.count >= 4)
            // What a state carries that cannot be compared is told.
            try other(path, "UPDATE change SET data = '[' WHERE seq = 5")
            let error = await #expect(throws: HistoryFailure.self) {
                try await history.history.found(query)
            }
            #expect(
                error?.description.contains("the data of change 5 is not a JSON object") == true
            )
        }
    }

    @Test func whatIsMissingIsSaid() async throws {
        try await withHistory { history, path in
            try await history.makeMachine().change(9)
            try other(path, "DELETE FROM change WHERE seq = 5")
            for only in [nil, ["ready"], ["away"], ["!away"]] as [[Pattern]?] {
                var query = TransitionQuery(after: 2, before: 9)
                query.only = only.map { [PatternList($0)] }
                // It ends before what is missing; the next one begins behind that, and says so.
                var finding = try await history.history.next(query)
                #expect(finding.first == 3 && finding.examined == 4)
                query.after = 4
                finding = try await history.history.next(query)
                #expect(finding.first == 6 && finding.examined == 8)
                (query.after, query.isNewestFirst) = (2, true)
                finding = try await history.history.next(query)
                #expect(finding.first == 8 && finding.examined == 6)
                query.before = 6
                finding = try await history.history.next(query)
                #expect(finding.first == 4 && finding.examined == 3)
                query.after = 4
                finding = try await history.history.next(query)
                #expect(finding.first == 4 && finding.examined == 5)
                #expect(finding.transitions.isEmpty)
            }
        }
    }
}

extension TransitionQuery {
    /// Looks behind what has been found.
    mutating func goOn(after finding: TransitionFinding) {
        if self.isNewestFirst {
            self.before = finding.examined
        } else {
            self.after = finding.examined
        }
    }

    /// Whether a transition between the two ends is wanted.
    func wants(_ transition: RecordedTransition) -> Bool {
        let (name, data) = (transition.new.name, JSONValue(parsing: transition.new.data) ?? .null)
        return self.only?.contains { $0.contains { $0.matches(name, data) } } ?? true
            && self.origin.includes(transition.by, transition.cause)
    }
}

extension PastStore {
    func next(_ query: TransitionQuery) async throws -> TransitionFinding {
        try await withCheckedContinuation { continuation in
            self.read(query) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Everything that a query matches, however many pieces it comes in.
    func found(_ query: TransitionQuery) async throws -> [RecordedTransition] {
        var query = query
        var transitions: [RecordedTransition] = []
        while query.after + 1 < query.before {
            let finding = try await self.next(query)
            transitions += finding.transitions
            query.goOn(after: finding)
        }
        return transitions
    }

    func place(of time: WallTime, upTo newest: UInt64) async throws -> UInt64 {
        try await withCheckedContinuation { continuation in
            self.locate(time, upTo: newest) { continuation.resume(returning: $0) }
        }.get()
    }
}

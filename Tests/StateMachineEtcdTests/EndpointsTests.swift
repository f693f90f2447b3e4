#if Cluster
import TestSupport
import Testing

@testable import StateMachineEtcd

/// Which member is asked, without any.
@Suite struct EndpointsTests {
    private typealias Attempt = Endpoints.Attempt

    /// Tells what happens, and passes on what is to be done.
    private final class Script {
        private var endpoints: Endpoints
        private var generator = SeededGenerator(seed: 1)

        init(_ count: Int) { self.endpoints = Endpoints(count: count) }

        func tell(_ event: Endpoints.Event) -> [Endpoints.Action] {
            self.endpoints.thisHappened(event, using: &self.generator)
        }

        /// Fails an attempt, and returns its pause.
        func fail(_ attempt: Endpoints.Attempt) -> (attempt: Endpoints.Attempt, time: Duration)? {
            for case .pause(let attempt, let time) in self.tell(.failed(attempt, "down")) {
                return (attempt, time)
            }
            return nil
        }
    }

    @Test func allAreAskedAtOnceAndTheFirstIsKept() {
        let script = Script(3)
        let attempts = (0..<3).map { Attempt(endpoint: $0, number: $0 + 1) }
        #expect(script.tell(.begun) == attempts.map { .probe($0) })
        #expect(
            script.tell(.answered(attempts[1])) == [
                .drop(attempts[0]), .drop(attempts[2]), .use(attempts[1]),
                .wait(attempts[1], .seconds(2)),
            ]
        )
        // Too late.
        #expect(script.tell(.answered(attempts[0])) == [])
        #expect(script.tell(.failed(attempts[2], "x")) == [])
        #expect(script.tell(.lost(attempts[0], "x")) == [])
    }

    @Test func whenItIsLostAllAreAskedAgainButItHasAPause() {
        let script = Script(2)
        _ = script.tell(.begun)
        _ = script.tell(.answered(Attempt(endpoint: 0, number: 1)))
        let actions = script.tell(.lost(Attempt(endpoint: 0, number: 1), "gone"))
        #expect(actions.prefix(2) == [.drop(Attempt(endpoint: 0, number: 1)), .report(["gone"])])
        guard case .pause(let attempt, _)? = actions.dropFirst(2).first else {
            Issue.record("\(actions)")
            return
        }
        #expect(actions.last == .probe(Attempt(endpoint: 1, number: 4)))
        #expect(script.tell(.paused(attempt)) == [.probe(Attempt(endpoint: 0, number: 5))])
    }

    @Test func pausesGrowToTwoSecondsAndAreNeverTheSame() throws {
        let script = Script(1)
        _ = script.tell(.begun)
        var number = 1
        var pauses: [Duration] = []
        for _ in 0..<12 {
            let pause = try #require(script.fail(Attempt(endpoint: 0, number: number)))
            pauses.append(pause.time)
            #expect(script.tell(.paused(pause.attempt)).count == 1)
            number += 2
        }
        for (index, pause) in pauses.enumerated() {
            let step = min(Duration.seconds(2), .milliseconds(50) * (1 << index))
            #expect(step * 0.5 <= pause && pause <= step, "\(index): \(pause)")
        }
        #expect(Set(pauses).count == pauses.count)
    }

    @Test func oneThatAnswersNothingHoldsUpNoOther() throws {
        let script = Script(2)
        _ = script.tell(.begun)
        var number = 2
        for _ in 0..<20 {
            let pause = try #require(script.fail(Attempt(endpoint: 1, number: number)))
            number += 2
            #expect(
                script.tell(.paused(pause.attempt)) == [
                    .probe(Attempt(endpoint: 1, number: number))
                ]
            )
        }
        // The first is still being asked.
        #expect(
            script.tell(.answered(Attempt(endpoint: 0, number: 1))).contains(
                .use(Attempt(endpoint: 0, number: 1))
            )
        )
    }

    @Test func troublesAreReportedWhenAllHaveOneAndWhenTheyChange() {
        let script = Script(2)
        _ = script.tell(.begun)
        #expect(
            !script.tell(.failed(Attempt(endpoint: 0, number: 1), "a")).contains {
                self.isReport($0)
            }
        )
        #expect(
            script.tell(.failed(Attempt(endpoint: 1, number: 2), "b")).last == .report(["a", "b"])
        )
        _ = script.tell(.paused(Attempt(endpoint: 0, number: 3)))
        #expect(
            !script.tell(.failed(Attempt(endpoint: 0, number: 5), "a")).contains {
                self.isReport($0)
            }
        )
        _ = script.tell(.paused(Attempt(endpoint: 0, number: 6)))
        #expect(
            script.tell(.failed(Attempt(endpoint: 0, number: 7), "c")).last == .report(["c", "b"])
        )
    }

    private func isReport(_ action: Endpoints.Action) -> Bool {
        if case .report = action { true } else { false }
    }

    @Test func whoHasStoodIsTriedAtOnceAndAllOthersAre() {
        let script = Script(2)
        _ = script.tell(.begun)
        _ = script.tell(.failed(Attempt(endpoint: 1, number: 2), "down"))
        _ = script.tell(.answered(Attempt(endpoint: 0, number: 1)))
        #expect(script.tell(.stood(Attempt(endpoint: 0, number: 1))) == [])
        let actions = script.tell(.lost(Attempt(endpoint: 0, number: 1), "gone"))
        #expect(
            actions.contains {
                if case .probe(let attempt) = $0 { attempt.endpoint == 1 } else { false }
            }
        )
    }

    /// Two that take connections and lose them at once.
    @Test func twoThatFlutterAreNotTriedInTurnsWithoutAPause() {
        let script = Script(2)
        var pending = script.tell(.begun)
        var elapsed = Duration.zero
        var uses = 0
        // One after the other: each attempt that is made is answered, and lost at once.
        while uses < 40 {
            guard let action = pending.popLast() else { break }
            switch action {
            case .probe(let attempt): pending += script.tell(.answered(attempt))
            case .use(let attempt):
                uses += 1
                pending = script.tell(.lost(attempt, "gone"))
            case .pause(let attempt, let time):
                // Only when there is nothing else to do.
                guard !pending.contains(where: { if case .probe = $0 { true } else { false } })
                else {
                    pending.insert(action, at: 0)
                    continue
                }
                elapsed += time
                pending += script.tell(.paused(attempt))
            case .drop, .wait, .report: break
            }
        }
        #expect(uses == 40 && elapsed > .seconds(10), "\(uses) in \(elapsed)")
    }

    /// Whatever happens: one is used at most, no attempt is told of twice, and somebody is always asked or about to be.
    @Test(arguments: Chance.seeds(4))
    func aWalkKeepsItsRules(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let script = Script(3)
        var probing: Set<Attempt> = []
        var pausing: Set<Attempt> = []
        var used: Attempt?
        var next = script.tell(.begun)
        for _ in 0..<Chance.steps(20_000) {
            for action in next {
                switch action {
                case .probe(let attempt):
                    try #require(used == nil && probing.insert(attempt).inserted)
                case .drop(let attempt):
                    try #require(probing.remove(attempt) != nil || used == attempt)
                    if used == attempt { used = nil }
                case .use(let attempt):
                    try #require(used == nil && probing.remove(attempt) != nil)
                    used = attempt
                case .pause(let attempt, let time):
                    try #require(time >= .milliseconds(25) && time <= .seconds(2))
                    pausing.insert(attempt)
                case .wait(let attempt, _): try #require(attempt == used)
                case .report(let troubles): try #require(used == nil && !troubles.isEmpty)
                }
            }
            if used != nil {
                try #require(probing.isEmpty)
            } else {
                try #require(!probing.isEmpty || !pausing.isEmpty)
            }
            let attempts = probing.union(pausing).union(used.map { [$0] } ?? [])
                .sorted { $0.number < $1.number }
            let attempt = try #require(attempts.randomElement(using: &generator))
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: next = script.tell(.answered(attempt))
            case 1:
                next = script.tell(
                    .failed(attempt, "\(UInt8.random(in: 0...3, using: &generator))")
                )
            case 2:
                pausing.remove(attempt)
                next = script.tell(.paused(attempt))
            case 3: next = script.tell(.lost(attempt, "gone"))
            default: next = script.tell(.stood(attempt))
            }
        }
    }
}
#endif

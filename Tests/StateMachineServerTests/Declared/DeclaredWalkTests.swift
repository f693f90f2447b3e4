import Foundation
import StateMachineCore
import TestSupport
import Testing

/// Random walks of declared machines over the socket, with clocks that the walk advances, checked
/// against a model that is made from the same file by other means.
@Suite(.timeLimit(.minutes(60))) struct DeclaredWalkTests {
    /// Features that the three machines do not use.
    private static let oddities = """
        machine: oddities
        start: rest
        boot: again
        moves: {most: 1, in: 10min}
        events:
          poke: {}
          note: {text: {type: string, max: 12, optional: true}, loud: boolean}
          skip: {}
        groups:
          awake:
            states: [busy, loud]
            when: {skip: rest, poke: ignore}
        states:
          rest:
            fields: {count: {type: integer, min: 0, max: 9, default: 0}}
            when: {poke: busy, note: loud}
            boot: busy
          busy:
            fields:
              count: {type: integer, min: 0, max: 20, default: 3}
              text: {type: string, optional: true}
            when: {poke: again, note: again}
            run: {command: /bin/busy, timeout: 1h}
            done: rest count=2
            exit: {3: loud text=x, 4: busy count=9}
            failed: busy
            after: {45s: busy count=1}
            to: [rest, loud]
          loud:
            fields: {loud: {type: boolean, default: false}, text: {type: string, max: 5, optional: true}}
            when: {note: stay, skip: ignore}
            run: {command: [/bin/loud, "{loud}"], interrupted: rest count=6}
            exit: {21: busy}
            after: {2h: rest count=4}
        """

    /// What only this machine's walk is sure to meet.
    private static let rare = ["suspended", "exit 3", "exit 21", "interrupted"]

    private static let texts: [String: String] = {
        var texts = ["oddities": Self.oddities]
        for name in ["kiosk", "ota", "worker"] {
            let root = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../contrib/machines/\(name).yaml")
            texts[name] = try? String(contentsOf: root, encoding: .utf8)
        }
        return texts
    }()

    @Test(arguments: ["kiosk", "ota", "worker", "oddities"], Chance.seeds)
    func everyAnswerIsTheModels(machine: String, seed: UInt64) async throws {
        let text = try #require(Self.texts[machine])
        let steps = Chance.steps(800)
        try await withTemporaryDirectory { directory in
            let walk = try DeclaredWalk([text], seed: seed, state: "\(directory)/state")
            while walk.count < steps { try await walk.life(of: steps) }
            // A walk in which little happened has not tested much.
            #expect(walk.machine.seq > steps / 10, "\(walk.machine.seq)")
            for seen in ["done", "failed", "conflict"] + (machine == "oddities" ? Self.rare : []) {
                #expect(walk.seen[seen] != nil, "\(seen) of \(walk.seen)")
            }
        }
    }

    /// As many machines as a walk's steps are for, each with three files that take turns.
    @Test(arguments: Chance.seeds) func machinesByChanceAnswerAsTheModel(seed: UInt64) async throws
    {
        let (steps, each) = (Chance.steps(1200), 400)
        var seen: [String: Int] = [:]
        for number in 0..<UInt64(max(1, steps / each)) {
            let random = RandomMachine(seed: seed &* 1_000_000 &+ number)
            let editions = (0..<3).map { random.text(edition: $0) }
            do {
                try await withTemporaryDirectory { directory in
                    let walk = try DeclaredWalk(editions, seed: seed, state: "\(directory)/state")
                    while walk.count < each { try await walk.life(of: each) }
                    seen.merge(walk.seen, uniquingKeysWith: +)
                }
            } catch {
                throw TestFailure(
                    "machine \(number): \(error)\n\(editions.joined(separator: "---\n"))"
                )
            }
        }
        for one in ["refused", "bad-data", "conflict", "bad-request", "done"] {
            #expect(seen[one] != nil, "\(one) of \(seen)")
        }
    }

    @Test(arguments: Chance.seeds) func aTraceOfAMachineByChanceIsTheModels(seed: UInt64) throws {
        let (steps, each) = (Chance.steps(4000), 200)
        var (causes, silences) = (Set<String>(), 0)
        for number in 0..<UInt64(max(1, steps / each)) {
            let text = RandomMachine(seed: seed &* 1_000_000 &+ number).text(edition: 0)
            // The breaker of a trace withholds what a daemon's refuses.
            let calm = text.replacing("most: 3,", with: "most: 100000,")
            do {
                var walk = try SimulatedWalk(calm, seed: seed)
                try walk.walk(steps: each)
                causes.formUnion(walk.causes.compactMap(\.self))
                silences += walk.silences
            } catch {
                throw TestFailure("machine \(number): \(error)\n\(calm)")
            }
        }
        for one in ["boot", "after 20s", "after {l}", "after {u}"] {
            #expect(causes.contains(one), "\(one) of \(causes)")
        }
        #expect(silences > 0)
    }
}

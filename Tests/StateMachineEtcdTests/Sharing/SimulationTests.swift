#if Cluster
import Foundation
import TestSupport
import Testing

@testable import StateMachineEtcd

/// Hosts that share a machine, by chance: `STATEMACHINE_WALK_SEED` is the only seed, and what happened is printed then.
@Suite struct SimulationTests {
    /// As many as take some seconds; more by `STATEMACHINE_SIMULATIONS`, from `STATEMACHINE_FIRST_SEED` on.
    private static var seeds: Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["STATEMACHINE_FIRST_SEED"].flatMap(UInt64.init) ?? 1
        return first..<first + (environment["STATEMACHINE_SIMULATIONS"].flatMap(UInt64.init) ?? 20)
    }

    @Test func nothingIsLostRefusedOrOutOfOrder() {
        let only = ProcessInfo.processInfo.environment["STATEMACHINE_WALK_SEED"].flatMap(
            UInt64.init
        )
        for seed in only.map({ $0..<$0 + 1 }) ?? Self.seeds {
            let simulation = Simulation(seed: seed, isTold: only != nil)
            let violations = simulation.run()
            if only != nil { print(simulation.simulator.text) }
            #expect(
                violations.isEmpty,
                "STATEMACHINE_WALK_SEED=\(seed): \(violations.joined(separator: "; "))"
            )
            if !violations.isEmpty { return }
        }
    }

    /// Takes a minute where the tests are built without optimising, so only on request.
    @Test(
        .enabled(if: ProcessInfo.processInfo.environment["STATEMACHINE_SIMULATIONS"] != nil),
        arguments: Simulation.BrokenRule.allCases
    )
    func aBrokenRuleIsFound(
        _ rule: Simulation.BrokenRule
    ) {
        var found: (seed: UInt64, what: String)?
        for seed in UInt64(1)...1000 where found == nil {
            found = Simulation(seed: seed, breaking: rule).run().first.map { (seed, $0) }
        }
        #expect(found != nil)
        if let found { print("\(rule) is found by seed \(found.seed): \(found.what)") }
    }
}
#endif

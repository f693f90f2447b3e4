import Foundation
import TestSupport
import Testing

/// Random walks of many clients, checked against the protocol's guarantees.
///
/// `STATEMACHINE_WALK_SEED` and `STATEMACHINE_WALK_STEPS` make it one longer walk.
@Suite(.timeLimit(.minutes(60))) struct ModelTests {
    private static let environment = ProcessInfo.processInfo.environment

    private static var seeds: [UInt64] {
        Self.environment["STATEMACHINE_WALK_SEED"].flatMap(UInt64.init).map { [$0] } ?? [1, 2]
    }

    private static var steps: Int {
        Self.environment["STATEMACHINE_WALK_STEPS"].flatMap(Int.init) ?? 3000
    }

    @Test(arguments: seeds) func whateverClientsDoTheGuaranteesHold(seed: UInt64) async throws {
        let steps = Self.steps
        try await DaemonProcess.run("--ring-changes", "\(Walk.ring)") { daemon in
            let epoch = try await daemon.epoch()
            let head = try await blocking {
                var walk = try Walk(daemon, epoch: epoch, seed: seed)
                do {
                    for _ in 0..<steps { try walk.step() }
                    try walk.finish()
                } catch {
                    let tails = walk.clients.map {
                        "\($0.name):\n" + $0.tail.joined(separator: "\n")
                    }
                    throw TestFailure(
                        """
                        seed \(seed): \(error)
                        \(walk.steps.joined(separator: "\n"))
                        \(tails.joined(separator: "\n"))
                        """
                    )
                }
                return walk.truth.head
            }
            // A walk in which little happened has not tested much.
            #expect(head > steps / 4)
        }
    }
}

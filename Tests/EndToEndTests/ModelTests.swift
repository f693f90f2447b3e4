import Foundation
import TestSupport
import Testing

/// Random walks of many clients, checked against the protocol's guarantees.
@Suite(.timeLimit(.minutes(60))) struct ModelTests {
    @Test(arguments: Chance.seeds) func whateverClientsDoTheGuaranteesHold(
        seed: UInt64
    ) async throws {
        let steps = Chance.steps(3000)
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

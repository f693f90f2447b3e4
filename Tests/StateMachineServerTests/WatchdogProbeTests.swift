import Logging
import NIOCore
import NIOPosix
import StateMachineCore
import Synchronization
import TestSupport
import Testing

@testable import StateMachineServer

/// Who is pinged, and when not.
@Suite(.timeLimit(.minutes(5)))
struct WatchdogProbeTests {
    /// Pings that have been sent, and somebody who waits for more.
    private final class Pings: Sendable {
        private let count = Atomic<Int>(0)
        private let stream = AsyncStream.makeStream(of: Void.self)

        var sent: Int { self.count.load(ordering: .sequentiallyConsistent) }

        func add() {
            self.count.add(1, ordering: .sequentiallyConsistent)
            self.stream.continuation.yield()
        }

        func wait(forMore number: Int) async {
            var left = number
            for await _ in self.stream.stream {
                left -= 1
                if left == 0 { return }
            }
        }
    }

    private func probe(
        on group: MultiThreadedEventLoopGroup,
        _ pings: Pings
    ) async throws -> WatchdogProbe {
        let loop = group.next()
        let bell = try await PollBell.make(on: group)
        return try await loop.submit {
            let server = StateServer(
                machine: TypedMachine(StateMachine<DoorState>(), on: loop),
                loop: loop,
                limits: ServerLimits(),
                bell: bell.value
            )
            return WatchdogProbe(
                of: server,
                within: .milliseconds(10),
                logger: Logger(label: "test"),
                ping: { pings.add() }
            )
        }.get()
    }

    /// Time is told by another probe of the same interval, on a loop of its own.
    @Test
    func aLoopThatHangsIsNotSaidToBeAlive() async throws {
        let (wedged, sound) = (Pings(), Pings())
        let groups = [1, 2].map { _ in MultiThreadedEventLoopGroup(numberOfThreads: 1) }
        let probes = [
            try await self.probe(on: groups[0], wedged), try await self.probe(on: groups[1], sound),
        ]
        await wedged.wait(forMore: 3)
        let gate = Gate()
        let (entered, isEntered) = AsyncStream.makeStream(of: Void.self)
        groups[0].next().execute {
            isEntered.finish()
            gate.pass()
        }
        for await _ in entered {}
        let before = wedged.sent
        await sound.wait(forMore: sound.sent + 20)
        // One may have been on its way when the loop began to hang.
        #expect(wedged.sent <= before + 1)
        gate.open()
        await wedged.wait(forMore: wedged.sent + 3)
        for probe in probes { probe.cancel() }
        for group in groups { try await group.shutdownGracefully() }
    }
}

import Logging
import NIOCore
import NIOPosix
import StateMachineCore
import StateMachineProtocol
import Synchronization
import TestSupport
import Testing

@testable import StateMachineServer

/// When the watchdog is pinged, and when not.
@Suite(.bounded) struct WatchdogProbeTests {
    /// Counts the pings sent, and lets a test wait for more.
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
        of machine: StateMachine<DoorState> = StateMachine(),
        _ pings: Pings
    ) async throws -> WatchdogProbe {
        let loop = group.next()
        let bell = try await LoopBell.make(on: group)
        return try await loop.submit {
            let server = StateServer(
                machine: machine.machine,
                schema: StateCoding<DoorState>().schema,
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

    /// Another probe with the same interval, on a loop of its own, measures the time.
    @Test func aLoopThatHangsIsNotSaidToBeAlive() async throws {
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
        // One may have been under way when the loop began to hang.
        #expect(wedged.sent <= before + 1)
        gate.open()
        await wedged.wait(forMore: wedged.sent + 3)
        for probe in probes { probe.cancel() }
        for group in groups { try await group.shutdownGracefully() }
    }

    /// The log has been given a set and does not answer; the setter waits for ever.
    @Test func aLogThatDoesNotAnswerIsNotSaidToBeAlive() async throws {
        let (wedged, sound) = (Pings(), Pings())
        let groups = [1, 2].map { _ in MultiThreadedEventLoopGroup(numberOfThreads: 1) }
        let log = SilentLog()
        let machine = Self.machine(with: log)
        let probes = [
            try await self.probe(on: groups[0], of: machine, wedged),
            try await self.probe(on: groups[1], sound),
        ]
        await wedged.wait(forMore: 3)
        Self.propose(1, to: machine)
        let before = wedged.sent
        await sound.wait(forMore: sound.sent + 40)
        // It may be slow for as long as the manager would wait.
        #expect(wedged.sent <= before + 4)

        // A disk that answers is alive, however late, and whatever the answer.
        log.answer("no room")
        await wedged.wait(forMore: wedged.sent + 10)
        for probe in probes { probe.cancel() }
        for group in groups { try await group.shutdownGracefully() }
    }

    private static func propose(_ degrees: Int, to machine: StateMachine<DoorState>) {
        let move = Move(to: TypedValue(DoorState.open(degrees: degrees)))
        machine.machine.propose(move, asking: Question()) { _ in }
    }

    private static func machine(with log: SilentLog) -> StateMachine<DoorState> {
        var options = StateMachine<DoorState>.Options()
        options.log = log
        return StateMachine(options: options)
    }

    /// With a set always under way, the answers are what counts.
    @Test func aLogThatAnswersLateIsAlive() async throws {
        let pings = Pings()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let log = SilentLog()
        let machine = Self.machine(with: log)
        for degrees in 1...40 {
            Self.propose(degrees, to: machine)
            // The log has one group; the others accumulate.
            if degrees == 1 { Self.propose(0, to: machine) }
        }
        let probe = try await self.probe(on: group, of: machine, pings)
        for number in 1...40 {
            await pings.wait(forMore: 1)
            log.answer(nil)
            Self.propose(40 + number, to: machine)
        }
        probe.cancel()
        try await group.shutdownGracefully()
    }
}

/// A log that answers when the test says so.
private final class SilentLog: WriteAheadLog {
    private let waiting = Mutex<[@Sendable (String?) -> Void]>([])

    func commit(
        _ group: [Transition<DoorState>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.waiting.withLock { $0.append(done) }
    }

    func answer(_ failure: String?) {
        let waiting = self.waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for done in waiting { done(failure) }
    }
}

import Glibc
import Systemd
import TestSupport
import Testing

/// A service manager asked at its socket.
@Suite(.bounded) struct UnitManagerTests {
    private let fake: FakeManager
    private let manager: UnitManager

    init() throws {
        let path = "/tmp/manager-\(getpid())-\(UInt32.random(in: 0...(.max)))"
        self.fake = try FakeManager(path)
        self.manager = UnitManager(ManagerAddress(socket: path))
    }

    /// Waits until the manager has sent all its signals, and they have been received.
    private func hearAll() async throws {
        while self.fake.isNews { try await Task.sleep(for: .milliseconds(5)) }
        _ = try await self.manager.units(matching: "*")
    }

    /// A wait for the end of a unit that runs, of which the manager knows.
    private func awaitEnd(
        _ state: FakeManager.Unit = .init(active: "active", sub: "running"),
        until isMet: @escaping @Sendable (UnitStatus?) -> Bool = { $0?.hasEnded == true }
    ) async throws -> Task<UnitStatus?, any Error> {
        self.fake.set("a.service", state)
        let manager = self.manager
        let wait = Task { try await manager.status(of: "a.service", when: isMet) }
        while self.fake.connections == 0 { try await Task.sleep(for: .milliseconds(5)) }
        return wait
    }

    @Test func whetherTheMachineGoesDownIsAsked() async throws {
        defer { self.fake.stop() }
        #expect(try await self.manager.isStopping())
        #expect(self.fake.connections == 1)
    }

    @Test func aChangeEndsAWait() async throws {
        defer { self.fake.stop() }
        self.fake.set("a.service", .init(active: "active", sub: "running"))
        async let ended = self.manager.status(of: "a.service") { $0?.hasEnded == true }
        async let gone = self.manager.status(of: "b.service") { $0 == nil }
        // A wait for a unit that is not loaded ends at once.
        #expect(try await gone == nil)
        self.fake.set("b.service", .init(active: "failed", sub: "failed"))
        self.fake.set(
            "a.service",
            .init(active: "failed", sub: "failed", result: "signal", code: 2, status: 9)
        )
        #expect(try await ended?.active == "failed")
        #expect(
            try await self.manager.process(of: "a.service")
                == ServiceProcess(
                    result: "signal",
                    end: .killed(signal: 9),
                    started: .seconds(1),
                    ended: .milliseconds(1500)
                )
        )
    }

    /// The end may look as if the unit had ended by itself.
    @Test(arguments: [true, false])
    func whoeverWaitsIsToldThatItWasStopped(byJob: Bool) async throws {
        defer { self.fake.stop() }
        let wait = try await self.awaitEnd()
        // The answer to this comes after the answer to the wait.
        try await self.hearAll()
        if byJob {
            self.fake.ask("a.service")
        } else {
            self.fake.set("a.service", .init(active: "deactivating", sub: "stop-sigterm", job: 3))
            try await self.hearAll()
        }
        self.fake.set("a.service", .init(active: "failed", sub: "failed", result: "timeout"))
        #expect(try await wait.value?.wasToldToStop == true)
    }

    @Test func anEndOfItsOwnIsNoStop() async throws {
        defer { self.fake.stop() }
        let wait = try await self.awaitEnd(.init(active: "activating", sub: "start", job: 1))
        // The unit's start.
        self.fake.ask("a.service")
        try await self.hearAll()
        self.fake.set("a.service", .init(active: "active", sub: "running"))
        try await self.hearAll()
        // The unit's time is over.
        self.fake.set("a.service", .init(active: "deactivating", sub: "stop-sigterm"))
        try await self.hearAll()
        self.fake.set("a.service", .init(active: "failed", sub: "failed", result: "timeout"))
        #expect(try await wait.value?.wasToldToStop == false)
    }

    @Test func aWaitGoesOnOverAStartOfTheManager() async throws {
        defer { self.fake.stop() }
        let wait = try await self.awaitEnd()
        // No signal reports what happens while the manager is away.
        self.fake.set("a.service", .init(active: "active", sub: "exited"), telling: false)
        self.fake.hangUp()
        #expect(try await wait.value?.sub == "exited")
        // The next call reconnects.
        self.fake.hangUp()
        #expect(try await self.manager.units(matching: "a.*").count == 1)
    }

    /// Every tenth of a second by the wait, and as often by the question.
    @Test func aManagerOutOfReachIsTriedAtASteadyPace() async throws {
        defer { self.fake.stop() }
        self.fake.goAway()
        let manager = self.manager
        let began = ContinuousClock.now
        let wait = Task { try await manager.status(of: "a.service") { $0 == nil } }
        let question = Task { try await manager.units(matching: "*") }
        while self.fake.connections < 40 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(ContinuousClock.now - began > .milliseconds(1500))
        wait.cancel()
        question.cancel()
        await #expect(throws: BusError.cancelled) { try await wait.value }
        await #expect(throws: BusError.cancelled) { try await question.value }
    }

    @Test func whoIsCancelledWaitsNoMore() async throws {
        defer { self.fake.stop() }
        let wait = try await self.awaitEnd { $0 == nil }
        wait.cancel()
        await #expect(throws: BusError.cancelled) { try await wait.value }
    }
}

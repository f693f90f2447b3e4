internal import Dispatch
internal import Glibc

/// A service manager, asked over a connection of our own, which is there while it is needed.
///
/// A manager that starts anew (`systemctl daemon-reexec`), or is reached no more, is connected to again, and
/// who waits goes on waiting. Without anybody who waits there is no connection, and nothing wakes up.
///
/// Its own queue is what it runs on: an answer of the manager is waited for there.
package actor UnitManager {
    /// How long the manager may be out of reach.
    ///
    /// 30 s: one that starts anew with thousands of units needs less than a second.
    private static let timeout: Duration = .seconds(30)
    /// Between two attempts to reach it.
    private static let pause = 100
    /// How long a connection stays when nobody needs it, in seconds: a command that ends is often followed by one
    /// that begins.
    private static let linger = 5

    private let address: ManagerAddress
    private nonisolated let executor = QueueSerialExecutor(label: "service manager")
    private var bus: Bus?
    private var source: (any DispatchSourceRead)?
    private var waits = UnitWaits()
    private var waitCount = 0
    /// Since when the manager is out of reach of those who wait.
    private var lostSince: ContinuousClock.Instant?
    /// Goes up with each use, so that whoever wants to close the connection sees that it was used.
    private var uses = 0

    package init(_ address: ManagerAddress) { self.address = address }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        self.executor.asUnownedSerialExecutor()
    }

    /// Has the manager start a unit that no file describes.
    ///
    /// - Throws: refused as `org.freedesktop.systemd1.UnitExists` if there is one of that name.
    package func start(_ unit: String, _ settings: [UnitSetting]) async throws(BusError) {
        try await self.ask { (bus) throws(BusError) in try bus.startTransient(unit, settings) }
    }

    /// Has the manager stop a unit; returns before it has stopped.
    package func stop(_ unit: String) async throws(BusError) {
        try await self.ask { (bus) throws(BusError) in try bus.stop(unit) }
    }

    /// Has the manager forget that a unit failed.
    package func resetFailed(_ unit: String) async throws(BusError) {
        try await self.ask { (bus) throws(BusError) in try bus.resetFailed(unit) }
    }

    /// The loaded units whose names match a pattern of glob(7).
    package func units(matching pattern: String) async throws(BusError) -> [UnitStatus] {
        try await self.ask { (bus) throws(BusError) in try bus.units(matching: [pattern]) }
    }

    package func process(of service: String) async throws(BusError) -> ServiceProcess {
        try await self.ask { (bus) throws(BusError) in try bus.process(of: service) }
    }

    /// What a service adds to each line of its in the journal: `NAME=value`.
    package func logFields(of service: String) async throws(BusError) -> [String] {
        try await self.ask { (bus) throws(BusError) in try bus.logFields(of: service) }
    }

    /// Waits until something is true of a unit.
    ///
    /// - Parameters:
    ///   - unit: its name, with its suffix.
    ///   - isMet: asked now and whenever the manager tells that something about the unit is new; nil is a
    ///     unit that is not loaded.
    /// - Returns: what it was true of.
    /// - Throws: cancelled with its task; lost if the manager stays out of reach for half a minute.
    package func status(
        of unit: String,
        when isMet: @escaping @Sendable (UnitStatus?) -> Bool
    ) async throws(BusError) -> UnitStatus? {
        self.waitCount += 1
        let number = self.waitCount
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let path = Bus.path(of: unit)
                self.waits.append(.init(unit, path: path, isMet, continuation), as: number)
                self.settle()
            }
        } onCancel: {
            self.executor.queue.async { self.assumeIsolated { $0.cancel(number) } }
        }
        return try answer.get()
    }

    // MARK: Asking

    private func ask<Answer>(
        _ question: (Bus) throws(BusError) -> Answer
    ) async throws(BusError) -> Answer {
        let began = ContinuousClock.now
        while true {
            do throws(BusError) {
                let answer = try question(self.connection())
                // Signals that came with the answer make the descriptor readable no more.
                self.settle()
                return answer
            } catch {
                guard case .lost = error else { throw error }
                self.disconnect()
                self.tryAgain(error)
                guard ContinuousClock.now - began < Self.timeout else { throw error }
            }
            do {
                try await Task.sleep(for: .milliseconds(Self.pause))
            } catch {
                throw .cancelled
            }
        }
    }

    // MARK: Hearing

    /// Hears what has come, and answers those who waited for it.
    private func settle() {
        do throws(BusError) {
            repeat { try self.hear() } while try self.look()
            self.lostSince = nil
        } catch {
            self.disconnect()
            self.tryAgain(error)
        }
        self.closeSoon()
    }

    private func hear() throws(BusError) {
        guard let bus = self.bus else { return }
        while let signal = try bus.nextSignal() { self.waits.hear(try UnitSignal(signal)) }
    }

    /// Asks about what may be new.
    ///
    /// - Returns: whether it asked, so that more may have come.
    private func look() throws(BusError) -> Bool {
        let units = self.waits.takeStale()
        guard !units.isEmpty else { return false }
        self.waits.answer(units, try self.connection().units(matching: units))
        return true
    }

    private func tryAgain(_ error: BusError) {
        guard !self.waits.isEmpty else { return }
        let since = self.lostSince ?? .now
        self.lostSince = since
        guard ContinuousClock.now - since < Self.timeout else {
            self.lostSince = nil
            self.waits.failAll(error)
            return
        }
        self.executor.queue.asyncAfter(deadline: .now() + .milliseconds(Self.pause)) {
            self.assumeIsolated { $0.settle() }
        }
    }

    private func cancel(_ number: Int) {
        self.waits.fail(number, .cancelled)
        self.closeSoon()
    }

    // MARK: The connection

    private func connection() throws(BusError) -> Bus {
        self.uses += 1
        if let bus = self.bus { return bus }
        let bus = try Bus(self.address)
        // A duplicate, which is open for as long as the source looks at it.
        let descriptor = fcntl(bus.descriptor, F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw .lost(errno) }
        let source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor,
            queue: self.executor.queue
        )
        source.setEventHandler { [weak self] in self?.assumeIsolated { $0.settle() } }
        source.setCancelHandler { close(descriptor) }
        source.activate()
        self.bus = bus
        self.source = source
        return bus
    }

    private func disconnect() {
        self.source?.cancel()
        self.source = nil
        self.bus = nil
        // Whatever happens until there is another, nobody tells us.
        self.waits.staleAll()
    }

    private func closeSoon() {
        guard self.waits.isEmpty, self.bus != nil else { return }
        let uses = self.uses
        self.executor.queue.asyncAfter(deadline: .now() + .seconds(Self.linger)) { [weak self] in
            self?.assumeIsolated { $0.disconnectIfUnused(since: uses) }
        }
    }

    private func disconnectIfUnused(since uses: Int) {
        if self.waits.isEmpty, self.uses == uses { self.disconnect() }
    }
}

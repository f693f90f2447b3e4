internal import Dispatch
internal import Glibc

/// A service manager, reached over a connection of our own that lives while it is needed.
///
/// If the manager restarts (`systemctl daemon-reexec`) or cannot be reached, the connection is made
/// again, and waits go on. While nobody waits there is no connection, and nothing wakes up.
///
/// It runs on a queue of its own, and blocks there for the manager's answers.
package actor UnitManager {
    /// How long the manager may be out of reach.
    ///
    /// 30 s: one that restarts with thousands of units needs less than a second.
    private static let timeout: Duration = .seconds(30)
    /// Milliseconds between two attempts to reach it.
    private static let pause = 100
    /// How many seconds a connection is kept when nobody needs it: a command that ends is often
    /// followed by one that begins.
    private static let linger = 5

    package nonisolated let address: ManagerAddress
    private nonisolated let executor = QueueSerialExecutor(label: "service manager")
    private var bus: Bus?
    private var source: (any DispatchSourceRead)?
    private var waits = UnitWaits()
    private var waitCount = 0
    /// Since when waits have found the manager out of reach.
    private var lostSince: ContinuousClock.Instant?
    /// Whether waits will try to reach it again, by themselves.
    private var isToTryAgain = false
    /// Goes up with each use, so that code that wants to close the connection can tell whether it
    /// was used.
    private var uses = 0

    package init(_ address: ManagerAddress) { self.address = address }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        self.executor.asUnownedSerialExecutor()
    }

    /// Whether the machine, or the user's session, is going down.
    package func isStopping() async throws(BusError) -> Bool {
        try await self.ask { (bus) throws(BusError) in try bus.isStopping() }
    }

    /// Asks the manager to stop a unit; returns before it has stopped.
    package func stop(_ unit: String) async throws(BusError) {
        try await self.ask { (bus) throws(BusError) in try bus.stop(unit) }
    }

    /// Asks the manager to forget that a unit failed.
    package func resetFailed(_ unit: String) async throws(BusError) {
        try await self.ask { (bus) throws(BusError) in try bus.resetFailed(unit) }
    }

    /// The loaded units whose names match a glob(7) pattern.
    package func units(matching pattern: String) async throws(BusError) -> [UnitStatus] {
        try await self.ask { (bus) throws(BusError) in try bus.units(matching: [pattern]) }
    }

    package func process(of service: String) async throws(BusError) -> ServiceProcess {
        try await self.ask { (bus) throws(BusError) in try bus.process(of: service) }
    }

    /// The fields that a service adds to each of its journal lines: `NAME=value`.
    package func logFields(of service: String) async throws(BusError) -> [String] {
        try await self.ask { (bus) throws(BusError) in try bus.logFields(of: service) }
    }

    /// Waits until a unit meets a condition.
    ///
    /// - Parameters:
    ///   - unit: its name, with its suffix.
    ///   - isMet: called now and whenever the manager reports a change of the unit; nil stands for
    ///     a unit that is not loaded.
    /// - Returns: the status that met the condition.
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
                self.waits.append(unit, path: path, when: isMet, as: number, continuation)
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
                // Signals that came with the answer no longer make the descriptor readable.
                self.settle()
                return answer
            } catch {
                guard case .lost = error else { throw error }
                self.disconnect()
                self.tryAgain(error)
                guard ContinuousClock.now - began < Self.timeout else { throw error }
            }
            // On this queue: for a task that sleeps, Dispatch wakes up every second.
            await withCheckedContinuation { continuation in
                self.executor.queue.asyncAfter(deadline: .now() + .milliseconds(Self.pause)) {
                    continuation.resume()
                }
            }
            guard !Task.isCancelled else { throw .cancelled }
        }
    }

    // MARK: Hearing

    /// Processes the signals that have come, and answers the waits whose conditions are met.
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

    /// Queries the units that may have changed.
    ///
    /// - Returns: whether it queried any, so that more signals may have come.
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
        guard !self.isToTryAgain else { return }
        self.isToTryAgain = true
        self.executor.queue.asyncAfter(deadline: .now() + .milliseconds(Self.pause)) {
            self.assumeIsolated { manager in
                manager.isToTryAgain = false
                manager.settle()
            }
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
        // A duplicate, which stays open while the source watches it.
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
        // Until there is another connection, we hear of no changes.
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

/// A queue as an actor's executor, for an actor that blocks in system calls.
final class QueueSerialExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) { self.queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(self.queue)) }
}

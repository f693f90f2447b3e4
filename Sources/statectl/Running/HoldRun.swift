import Glibc
import Processes
import StateMachineClient
import StateMachineCore

/// A hold and what is done while it lasts.
struct HoldRun: Sendable {
    let hold: Hold
    /// What to wait for, once the hold is taken, before the command is run.
    var condition: HoldCondition?
    /// How long the hold and the condition may take; nil means for ever.
    var limit: Duration?
    /// What the hold is for, in words.
    var purpose: String?
    /// Called with what goes right.
    var report: @Sendable (String) -> Void = { _ in }
    /// Called with what goes wrong.
    var complain: @Sendable (String) -> Void = { StandardError.write("statectl: \($0)") }

    /// Keeps the hold until the task is cancelled.
    func keep() async throws { try await self.keep { _ in } }

    /// Takes the hold, runs the command, and gives the hold back.
    ///
    /// - Returns: how the command ended.
    /// - Throws: why there was no hold to begin with; the command is not run then.
    func keep(during command: ChildCommand) async throws -> ChildCommand.Ending {
        let (taken, take) = AsyncStream.makeStream(of: Void.self)
        let force = Force()
        let end = self.limit.map { ContinuousClock.now.advanced(by: $0) }
        return try await withThrowingTaskGroup(of: ChildCommand.Ending?.self) { group in
            group.addTask {
                var isTaken = false
                while true {
                    do {
                        try await self.keep { isInForce in
                            force.changed(to: isInForce)
                            guard isInForce else { return }
                            isTaken = true
                            take.finish()
                        }
                        return nil
                    } catch ClientError.silent where !isTaken && end != nil {
                        // The time that was given is what ends it.
                    } catch let error as ClientError where isTaken {
                        self.complain("\(error.description.printable); continuing without the hold")
                        return nil
                    }
                }
            }
            group.addTask {
                try await Self.within(end) {
                    for await _ in taken {}
                    try Task.checkCancellation()
                    try await self.condition?.wait(until: end, report: self.report) {
                        force.isThere
                    }
                }
                return await Self.runPassingOnSignals(command)
            }
            defer { group.cancelAll() }
            while let ending = try await group.next() {
                if let ending { return ending }
            }
            throw CancellationError()
        }
    }

    /// Keeps the hold, and reports when it comes into force and when it no longer is.
    private func keep(_ changed: (_ isInForce: Bool) -> Void) async throws {
        var isAnew = false
        for try await event in self.hold {
            switch event {
            case .taken(let number):
                if isAnew {
                    self.complain("connected; hold \(number) is taken again")
                } else {
                    let purpose = self.purpose.map { "; \($0)" } ?? ""
                    self.report("hold \(number) is taken\(purpose)")
                }
                isAnew = true
                changed(true)
            case .interrupted(let error, let attempt, _):
                changed(false)
                guard attempt == 1 else { continue }
                self.complain(error.reconnecting)
            }
        }
    }

    /// Whether the hold is in force.
    ///
    /// Guarded state: `value`, behind its lock.
    private final class Force: Sendable {
        private let value = Lock(false)

        var isThere: Bool { self.value.withLock { $0 } }

        func changed(to isThere: Bool) { self.value.withLock { $0 = isThere } }
    }

    /// Does that, and gives up when a daemon has not answered a little after that time.
    private static func within(
        _ end: ContinuousClock.Instant?,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard let end else { return try await body() }
        try await Race.run(
            body,
            {
                try await Task.sleep(until: end.advanced(by: Client.lateness), clock: QuietClock())
                throw HoldCondition.timeUp
            }
        )
    }

    private static func runPassingOnSignals(_ command: ChildCommand) async -> ChildCommand.Ending {
        // What a terminal sends to the command as well is caught and dropped; all else is passed on. Whatever
        // comes, the hold lasts until the command has ended.
        let signals = Signals.stream(Signals.ofTerminals + Signals.passedOn)
        let (begun, begin) = AsyncStream.makeStream(of: pid_t.self)
        return await withTaskGroup(of: ChildCommand.Ending?.self) { group in
            // Once told to end, the command may take the time that it needs.
            group.addTask {
                await command.run(timeout: .seconds(1_000_000_000)) { begin.yield($0) }
            }
            group.addTask {
                for await pid in begun {
                    for await number in signals where !Signals.ofTerminals.contains(number) {
                        kill(pid, number)
                    }
                }
                return nil
            }
            var ending: ChildCommand.Ending?
            for await part in group {
                ending = part ?? ending
                group.cancelAll()
            }
            return ending ?? .notStarted("interrupted")
        }
    }
}

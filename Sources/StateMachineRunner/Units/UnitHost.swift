import Glibc
package import Logging
import Processes
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
package import Systemd

/// Runs commands as transient units; systemd has their processes, times, output and ends.
///
/// A unit stays loaded after its command has ended, until it is forgotten; a new runner finds it by
/// its name. A stopped unit is not loaded any more: its end is kept here, and lost with the runner
/// that stopped it.
package actor UnitHost: CommandHost {
    package nonisolated let outlivesRunner = true

    private let manager: UnitManager
    private let log: Logger
    /// Ends that no unit reports.
    private var ends: [CommandName: CommandEnd] = [:]
    /// When commands that were started here began, by the monotonic clock.
    private var starts: [CommandName: Duration] = [:]
    /// Running commands that are being stopped.
    private var stopping: Set<CommandName> = []
    /// Units that systemd has given up, and that stay loaded because of what is left in them.
    private var remaining: Set<CommandName> = []

    /// How long a unit that has been stopped may stay loaded.
    ///
    /// 5 s: the manager unloads it at once, unless some of its processes are left.
    private static let unloading = Duration.seconds(5)

    package init(_ manager: UnitManager, log: Logger) {
        self.manager = manager
        self.log = log
    }

    package func start(_ order: CommandOrder) async throws(CommandHostError) {
        let name = order.name
        guard self.ends[name] == nil else { return }
        guard order.isSound else {
            self.cannotBeExecuted(
                name,
                "a word or a variable contains a NUL byte, or no program is named"
            )
            return
        }
        do throws(BusError) {
            let now = Self.now
            if try await self.begin(order) { self.starts[name] = now }
        } catch {
            throw CommandHostError("cannot start \(name.unit): \(error)")
        }
    }

    package func end(of name: CommandName) async throws(CommandHostError) -> CommandEnd? {
        if let end = self.ends[name] { return end }
        do throws(BusError) {
            return try await self.awaitEnd(of: name)
        } catch {
            throw CommandHostError("cannot find out how \(name.unit) ended: \(error)")
        }
    }

    package func stop(_ name: CommandName) async throws(CommandHostError) {
        guard self.ends[name] == nil else { return }
        do throws(BusError) {
            guard let status = try await self.status(of: name), !status.isGone else { return }
            let process = try await self.manager.process(of: name.unit)
            // A command that ended by itself may have left processes behind; its end stays what it
            // was.
            if status.hasEnded {
                self.ends[name] = CommandEnd(process)
            } else {
                self.stopping.insert(name)
            }
            try await self.remove(name)
            self.hasStopped(name, began: process.started)
        } catch {
            self.stopping.remove(name)
            throw CommandHostError("cannot stop \(name.unit): \(error)")
        }
    }

    package func forget(_ name: CommandName) async throws(CommandHostError) {
        do throws(BusError) {
            let status = try await self.status(of: name)
            if let status, !status.hasEnded, !status.isGone {
                throw BusError.malformed("it has not ended")
            }
            if status != nil { try await self.remove(name) }
            self.ends[name] = nil
            self.starts[name] = nil
        } catch {
            throw CommandHostError("cannot clean up \(name.unit): \(error)")
        }
    }

    package func known(of machine: MachineLabel) async throws(CommandHostError) -> [CommandName] {
        do throws(BusError) {
            var names = self.ends.keys.filter { $0.label == machine }
            for unit in try await self.manager.units(matching: CommandName.pattern(of: machine))
            where !unit.isGone {
                let fields = try await self.manager.logFields(of: unit.name)
                guard let name = CommandName(machine, logFields: fields), !names.contains(name)
                else { continue }
                names.append(name)
            }
            return names
        } catch {
            throw CommandHostError("cannot list the commands of \(machine): \(error)")
        }
    }

    package var left: [LeftCommand] {
        self.remaining.map(Self.left).sorted { $0.command < $1.command }
    }

    private static func left(_ name: CommandName) -> LeftCommand {
        LeftCommand(command: name.description, why: self.remainder, process: nil)
    }

    private static let remainder = "some of its processes are still there after SIGKILL"

    // MARK: Starting

    /// Starts the unit; returns false if it exists already, or can never be started.
    private func begin(_ order: CommandOrder) async throws(BusError) -> Bool {
        let name = order.name
        while true {
            guard let complaint = try await self.runSystemdRun(order) else { return true }
            if let status = try await self.status(of: name) {
                guard status.isGone else {
                    let fields = try await self.manager.logFields(of: name.unit)
                    guard CommandName(name.label, logFields: fields) == name else {
                        throw .malformed(complaint)
                    }
                    return false
                }
                // A unit that somebody stopped is about to be unloaded.
                _ = try await self.manager.status(of: name.unit) { $0?.isGone != true }
                continue
            }
            // A manager that restarts takes no connection for a moment, and when the machine goes down nothing is started
            // any more: neither is the command's fault.
            guard !complaint.contains("onnect"), try await !self.manager.isStopping() else {
                throw .malformed(complaint)
            }
            self.cannotBeExecuted(name, complaint)
            return false
        }
    }

    /// Has systemd-run start the unit; returns what it complains of, nil if it has started it.
    ///
    /// It is over within the manager's answer.
    private func runSystemdRun(_ order: CommandOrder) async throws(BusError) -> String? {
        let words = [Self.systemdRun] + order.systemdRun(ofUser: self.manager.address == .user)
        var program = ProgramStart(
            path: Array(Self.systemdRun.utf8),
            words: words.map { Array($0.utf8) },
            environment: Self.environment
        )
        let errors = ProgramStart.memoryFile()
        guard errors >= 0 else { throw .lost(errno) }
        defer { close(errors) }
        program.errors = errors
        let end: RunningProgram.End
        do throws(ProgramStart.Failure) {
            end = try await program.start().end()
        } catch {
            throw .malformed("\(Self.systemdRun) cannot be run: \(error)")
        }
        guard end != .exited(0) else { return nil }
        if case .signalled(let number) = end {
            throw .malformed("\(Self.systemdRun) was ended by \(SignalName.of(number))")
        }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = pread(errors, &buffer, buffer.count, 0)
        let said = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        let lines = said.split(separator: "\n").map {
            $0.trimmingPrefix("Failed to start transient service unit: ")
        }
        return lines.isEmpty ? "\(Self.systemdRun): \(end)" : lines.joined(separator: "; ")
    }

    private static let systemdRun = "/usr/bin/systemd-run"

    /// Mere names of programs are looked up as for any service, and the user's manager is found as by this process.
    private static var environment: [[UInt8]] {
        let names: [String] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"]
        let own = names.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        return (own + ["PATH=\(CommandOrder.path)"]).map { Array($0.utf8) }
    }

    private func cannotBeExecuted(_ name: CommandName, _ why: String) {
        self.log.error("cannot run a command", metadata: ["command": "\(name)", "error": "\(why)"])
        self.ends[name] = CommandEnd(.exit(CommandEnd.notExecuted), duration: .zero)
    }

    // MARK: Ending

    private func awaitEnd(of name: CommandName) async throws(BusError) -> CommandEnd? {
        let began = try await self.began(name)
        let last = try await self.manager.status(of: name.unit) { status in
            status.map { $0.hasEnded || $0.isGone } ?? true
        }
        guard began != nil || last != nil else { return self.ends[name] }
        let wasStopped =
            last.map { $0.isGone || $0.wasToldToStop } ?? true
            || self.stopping.contains(name) || self.ends[name] != nil
        if !wasStopped { return CommandEnd(try await self.manager.process(of: name.unit)) }
        // Such a unit goes away only by being stopped: by us, by somebody's `systemctl stop`, or
        // because the machine goes down.
        self.hasStopped(name, began: began ?? .zero)
        return self.ends[name]
    }

    /// When a command began; nil if there is none.
    private func began(_ name: CommandName) async throws(BusError) -> Duration? {
        if let start = self.starts[name] { return start }
        guard let status = try await self.status(of: name), !status.isGone else { return nil }
        return try await self.manager.process(of: name.unit).started
    }

    private func hasStopped(_ name: CommandName, began: Duration) {
        self.stopping.remove(name)
        guard self.ends[name] == nil else { return }
        let duration = began == .zero ? .zero : max(.zero, Self.now - began)
        self.ends[name] = CommandEnd(.interrupted, duration: duration)
    }

    /// Stops a unit, and returns when it is not loaded any more.
    private func remove(_ name: CommandName) async throws(BusError) {
        let unit = name.unit
        do throws(BusError) {
            try await self.manager.stop(unit)
            let status = try await self.manager.status(of: unit) { $0?.isOver ?? true }
            if status?.active == "failed" { try await self.manager.resetFailed(unit) }
            guard try await !self.isUnloaded(unit) else {
                self.remaining.remove(name)
                return
            }
            guard self.remaining.insert(name).inserted else { return }
            Self.left(name).log(to: self.log)
        } catch .refused("org.freedesktop.systemd1.NoSuchUnit", _) {
            // It went by itself.
        }
    }

    /// Waits until a unit is not loaded any more; false if it stays.
    private func isUnloaded(_ unit: String) async throws(BusError) -> Bool {
        let manager = self.manager
        let answer = await withTaskGroup(of: Result<Bool, BusError>.self) { group in
            group.addTask {
                do throws(BusError) {
                    _ = try await manager.status(of: unit) { $0 == nil }
                    return .success(true)
                } catch {
                    return .failure(error)
                }
            }
            group.addTask { .success(!(await QuietClock().hasSlept(Self.unloading))) }
            defer { group.cancelAll() }
            return await group.next() ?? .success(false)
        }
        return try answer.get()
    }

    private func status(of name: CommandName) async throws(BusError) -> UnitStatus? {
        try await self.manager.status(of: name.unit) { _ in true }
    }

    private static var now: Duration {
        var now = timespec()
        // Fails only for a clock that does not exist.
        clock_gettime(CLOCK_MONOTONIC, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }
}

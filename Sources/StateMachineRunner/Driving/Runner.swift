import Glibc
package import Logging
import StateMachineClient
import StateMachineCore
package import StateMachineDeclaration
package import StateMachineProtocol
import SystemPackage
import Systemd

/// What a runner is given when it begins.
package struct RunnerConfiguration: Sendable {
    /// Where the daemon's doors are.
    package let directory: RuntimeDirectory
    /// The machine's label.
    package let label: MachineLabel
    /// The file that declares it.
    package let source: DeclarationSource
    /// Which boot of the machine this is.
    package let boot: String

    package init(
        directory: RuntimeDirectory,
        label: MachineLabel,
        source: DeclarationSource,
        boot: String
    ) {
        self.directory = directory
        self.label = label
        self.source = source
        self.boot = boot
    }
}

/// What a runner is asked to do from outside.
package enum RunnerSignal: Sendable {
    /// To end; what runs is left if another takes its place.
    case end(Conductor.Ending)
    /// To read the file again.
    case reread
}

/// The events of a runner's loop.
///
/// They wait in one stream, which is bounded by its sources: one line at a time, one command, one
/// answer, one alarm, and signals, which people send.
enum RunnerEvent: Sendable {
    case line(Line)
    /// There is a connection; the daemon's declaration has that hash, nil if no file declares it.
    case connected(declaration: String?)
    case disconnected(ClientError, attempt: Int)
    /// There will be no more lines.
    case gaveUp(any Error)
    case ended(CommandName, CommandEnd?)
    case failed(CommandName, CommandHostError, isStart: Bool)
    case stopped(CommandName, CommandEnd?)
    case told(Answer, stay: UInt64)
    case woke(Int)
    case signal(RunnerSignal)
    /// The file is to be read again, for it was not what the daemon has.
    case rereadDue
    /// The record is to be written, which failed before or was not urgent.
    case recordDue
}

/// Follows a machine and has its commands run, until nothing is to run or it is asked to end.
///
/// All of its state belongs to the one task that calls ``run(heeding:)``; results of other tasks
/// come back to it as events.
package final class Runner {
    /// Changes that may wait while a hook takes its time; the daemon keeps the others.
    ///
    /// 1024: some hundred kilobytes of ordinary ones.
    private static let backlogLimit = 1024

    /// How many attempts at the first connection fail before that is logged.
    ///
    /// 7: between them are some six seconds. A daemon starts in a hundredth of that, but may take seconds while a whole
    /// system starts.
    private static let firstAttempts = 7

    private let configuration: RunnerConfiguration
    private let host: any CommandHost
    private let log: RunnerLog
    private let events: AsyncStream<RunnerEvent>
    private let post: AsyncStream<RunnerEvent>.Continuation

    private var file: DeclaredFile
    private var effects: Effects
    private var lock: MachineLock
    private var wasConnected = false
    /// Whether a line has been taken for which there was no credit yet.
    private var isReaderWaiting = false

    /// A runner for the file as last read; what has to outlive the process is kept in `memory`, if
    /// there is any.
    package init(
        _ configuration: RunnerConfiguration,
        declaration: Declaration,
        host: any CommandHost,
        memory: MemoryDirectory?,
        logger: Logger
    ) {
        let (events, post) = AsyncStream.makeStream(of: RunnerEvent.self)
        let log = RunnerLog(logger)
        self.configuration = configuration
        self.host = host
        self.log = log
        self.events = events
        self.post = post
        self.file = DeclaredFile(configuration.source, declaration)
        self.effects = Effects(configuration, host: host, memory: memory, log: log, post: post)
        self.lock = MachineLock(configuration.directory)
    }

    /// Runs until there is nothing to be run, or a signal ends it.
    ///
    /// - Throws: `RunnerError` if it cannot go on.
    package func run(heeding signals: AsyncStream<RunnerSignal>) async throws(RunnerError) {
        let result = await withTaskGroup(of: Void.self) { group -> Result<Void, RunnerError> in
            let post = self.post
            group.addTask { for await signal in signals { post.yield(.signal(signal)) } }
            defer { group.cancelAll() }
            do throws(RunnerError) {
                guard let conductor = try await self.begin() else { return .success(()) }
                try await self.conduct(conductor, &group)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        self.effects.end()
        try result.get()
    }

    /// Ends what an earlier runner has left of a machine that declares nothing to run any more.
    ///
    /// - Throws: `RunnerError` if another runner is there.
    package func endLeftovers() async throws(RunnerError) {
        try self.takeLock()
        do throws(CommandHostError) {
            try await self.end(Set(self.host.known(of: self.configuration.label)))
        } catch {
            self.log.unended(error)
        }
    }

    private func end(_ strays: Set<CommandName>) async throws(CommandHostError) {
        for name in strays {
            self.log.stray(name)
            try await self.host.stop(name)
            try await self.host.forget(name)
        }
    }

    private func conduct(
        _ beginning: Conductor,
        _ group: inout TaskGroup<Void>
    ) async throws(RunnerError) {
        var conductor = beginning
        let post = self.post
        let (credits, credit) = AsyncStream.makeStream(of: Void.self)
        let intake = LineIntake(client: Client(self.configuration.directory)) { post.yield($0) }
        let (since, stay) = (conductor.record.since, conductor.record.stayBeginning)
        group.addTask { await intake.run(since: since, stay: stay, credits: credits) }
        await self.effects.perform(conductor, in: &group)
        for await event in self.events {
            self.effects.add(try self.taken(event, by: &conductor))
            await self.effects.perform(conductor, in: &group)
            if self.effects.isFinished { return }
            if self.isReaderWaiting, conductor.backlog < Self.backlogLimit {
                self.isReaderWaiting = false
                credit.yield()
            }
        }
    }

    /// Checks what an earlier runner has left; nil if this one is asked to end first.
    private func begin() async throws(RunnerError) -> Conductor? {
        let label = self.configuration.label
        try self.takeLock()
        let record = try self.effects.record(of: label)
        var trouble = GrowingPause()
        while true {
            do throws(CommandHostError) {
                let known = Set(try await self.host.known(of: label))
                let conductor = Conductor(
                    self.file.declaration,
                    record: record,
                    known: known,
                    boot: self.configuration.boot,
                    outlives: self.host.outlivesRunner,
                    label: label,
                    directory: self.configuration.directory,
                    at: KernelClock().moment
                )
                try await self.end(conductor.strays(among: known))
                return conductor
            } catch {
                let pause = trouble.next()
                self.log.trouble(error, retryingIn: pause)
                self.effects.rereadLater(pause)
                guard await self.isGoingOn() else { return nil }
            }
        }
    }

    /// Waits for the end of a pause; false if it is a signal that ends it.
    private func isGoingOn() async -> Bool {
        for await event in self.events {
            switch event {
            case .rereadDue: return true
            case .signal(.end): return false
            case .signal(.reread), .line, .connected, .disconnected, .gaveUp, .ended, .failed,
                .stopped, .told, .woke, .recordDue:
                continue
            }
        }
        return false
    }

    private func taken(
        _ event: RunnerEvent,
        by conductor: inout Conductor
    ) throws(RunnerError) -> [Action] {
        let now = KernelClock().moment
        switch event {
        case .line(let line):
            self.isReaderWaiting = true
            if let change = StayChange(line) { return conductor.received(change, at: now) }
            if line.kind == .live { return conductor.caughtUp(with: line, at: now) }
            guard line.kind == .declared, let hash = line.declaration else { return [] }
            self.file.daemonHas(hash)
            return self.compared(reading: true, &conductor, at: now)
        case .connected(let hash):
            self.log.connected()
            self.effects.connected()
            self.wasConnected = true
            try self.takeLock()
            self.file.daemonHas(hash)
            return conductor.connected(at: now)
                + self.compared(reading: !self.file.isAgreed, &conductor, at: now)
        case .disconnected(let error, let attempt):
            // A daemon that starts beside this process is there at one of the next attempts.
            if attempt == (self.wasConnected ? 1 : Self.firstAttempts) {
                self.log.disconnected(error)
            }
            return []
        case .gaveUp(let error): throw RunnerError("\(error)")
        case .ended(let name, let end): return conductor.ended(name, end, at: now)
        case .failed(let name, let error, let isStart):
            if isStart { self.effects.notBegun(name) }
            return conductor.failed(name, error, isStart: isStart, at: now)
        case .stopped(let name, let end): return conductor.stopped(name, end, at: now)
        case .told(let answer, let stay): return conductor.told(answer, stay: stay, at: now)
        case .woke(let alarm): return conductor.woke(alarm, at: now)
        case .signal(.reread), .rereadDue: return self.compared(reading: true, &conductor, at: now)
        case .signal(.end(let ending)):
            self.effects.willEnd()
            return conductor.end(ending, at: now)
        case .recordDue:
            self.effects.recordIsDue()
            return [.record]
        }
    }

    /// Takes the lock that keeps a second runner of this machine from running commands.
    private func takeLock() throws(RunnerError) {
        if let problem = try self.lock.take() { self.log.unlocked(problem) }
    }

    /// Compares the file with what the daemon has.
    private func compared(
        reading: Bool,
        _ conductor: inout Conductor,
        at now: StayMoment
    ) -> [Action] {
        if reading, let problem = self.file.read() { self.log.unreadable(problem) }
        switch self.file.isAgreed {
        case true: return conductor.agreed(on: self.file.declaration, at: now)
        case false:
            self.effects.rereadLater(self.file.pause())
            return conductor.disagreed(at: now)
        }
    }
}

/// Why a runner does not begin, or cannot go on, in a sentence for people.
package struct RunnerError: Error, Hashable, CustomStringConvertible {
    package let description: String

    /// The status that the process should exit with: 1, or 78 (`EX_CONFIG` of sysexits.h) where another
    /// start would end as this one until a person changes something.
    package let exitStatus: CInt

    package init(_ description: String, exitStatus: CInt = EXIT_FAILURE) {
        self.description = description
        self.exitStatus = exitStatus
    }

    /// Errors of a path, an owner, a permission or a mount; a lack of room or memory can end by itself.
    private static let lasting: Set<Errno> = [
        .permissionDenied, .notPermitted, .noSuchFileOrDirectory, .notDirectory, .isDirectory,
        .fileExists, .tooManySymbolicLinkLevels, .fileNameTooLong, .readOnlyFileSystem,
    ]

    /// For a failed system call.
    init(cannot what: String, _ error: Errno) {
        let status = Self.lasting.contains(error) ? EX_CONFIG : EXIT_FAILURE
        self.init("cannot \(what): \(error)", exitStatus: status)
    }
}

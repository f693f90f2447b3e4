import Glibc
import StateMachineClient
import Subprocess
import SystemPackage

/// A command as it stands on the command line: a program and its arguments, no shell.
struct ChildCommand: Sendable {
    /// How long a command that was told to end may take before it is killed.
    ///
    /// 10 s: the time that container runtimes give.
    static let grace = Duration.seconds(10)

    /// The program, looked up in PATH unless it has a slash, and its arguments.
    let words: [String]
    /// The directory of the daemon that it runs for, so that a client in it asks the same one.
    var directory: RuntimeDirectory?

    /// Nil without any word.
    init?(_ words: [String]) {
        guard !words.isEmpty else { return nil }
        self.words = words
    }

    /// Why it cannot be started as things are; nil if nothing is known against it.
    var obstacle: Ending? {
        let program = self.words[0]
        var candidates = [program]
        if !program.contains("/") {
            // Without a PATH the system uses one of its own.
            guard let path = getenv("PATH").map({ String(cString: $0) }) else { return nil }
            candidates = path.split(separator: ":", omittingEmptySubsequences: false)
                .map { "\($0.isEmpty ? "." : $0)/\(program)" }
        }
        let found = candidates.filter { candidate in
            var status = stat()
            return stat(candidate, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
        }
        if found.contains(where: { access($0, X_OK) == 0 }) { return nil }
        return found.isEmpty ? .notFound : .notStarted("permission denied")
    }

    /// Throws if the command cannot be started.
    ///
    /// - Throws: ``ProcessEnd`` with a shell's status for that, once the reason has been reported.
    func check() throws(ProcessEnd) {
        guard let obstacle = self.obstacle else { return }
        if let complaint = obstacle.complaint(about: self) {
            StandardError.write("statectl: \(complaint)")
        }
        throw .status(obstacle.status)
    }

    /// Runs it to its end, with this process's output and errors.
    ///
    /// If the task is cancelled, the command gets SIGTERM.
    ///
    /// - Parameters:
    ///   - environment: variables added to this process's; nil unsets one.
    ///   - input: its standard input; nil leaves it this process's own.
    ///   - timeout: how long after SIGTERM it is killed.
    ///   - begun: called with its process.
    /// - Returns: how it ended.
    func run(
        environment: [String: String?] = [:],
        input: String? = nil,
        timeout: Duration = grace,
        begun: @escaping @Sendable (pid_t) -> Void = { _ in }
    ) async -> Ending {
        await self.ending { configuration in
            let result = try await Subprocess.run(
                configuration,
                input: try Self.standardInput(input),
                output: .currentStandardOutput,
                error: .currentStandardError
            ) { begun($0.processIdentifier.value) }
            return result.terminationStatus
        } of: {
            self.configuration(environment, timeout)
        }
    }

    /// Runs it to its end as ``run(environment:input:timeout:)`` does, and keeps the first line
    /// that it writes to standard error, which is passed on.
    func runKeepingComplaint(
        environment: [String: String?],
        input: String,
        timeout: Duration = grace
    ) async -> (ending: Ending, complaint: String?) {
        var complaint = FirstLine()
        let ending = await self.ending { configuration in
            let result = try await Subprocess.run(
                configuration,
                input: try Self.standardInput(input),
                output: .currentStandardOutput,
                error: .sequence
            ) { execution in
                var line = FirstLine()
                do {
                    for try await buffer in execution.standardError {
                        let bytes = buffer.withUnsafeBytes { Array($0) }
                        StandardError.pass(bytes)
                        line.append(bytes)
                    }
                } catch {
                    // The command has ended and left the pipe to a process that it started.
                }
                return line
            }
            complaint = result.closureResult
            return result.terminationStatus
        } of: {
            self.configuration(environment, timeout)
        }
        return (ending, complaint.text)
    }

    private func ending(
        _ run: (Configuration) async throws -> TerminationStatus,
        of configuration: () -> Configuration
    ) async -> Ending {
        do {
            switch try await run(configuration()) {
            case .exited(let code): return .exited(code)
            case .signaled(let signal): return .signalled(signal)
            }
        } catch let error as SubprocessError where error.code == .executableNotFound {
            return .notFound
        } catch {
            return .notStarted("\(error)")
        }
    }

    private func configuration(
        _ environment: [String: String?],
        _ timeout: Duration
    ) -> Configuration {
        var options = PlatformOptions()
        options.teardownSequence = [
            .send(signal: .terminate, allowedDurationToNextStep: timeout)
        ]
        let program = self.words[0]
        var environment = environment
        if let directory { environment[RuntimeDirectory.variable] = directory.absolutePath }
        let updates = environment.map { (Environment.Key(stringLiteral: $0.key), $0.value) }
        return Configuration(
            executable: program.contains("/") ? .path(FilePath(program)) : .name(program),
            arguments: Arguments(Array(self.words.dropFirst())),
            environment: .inherit.updating(Dictionary(uniqueKeysWithValues: updates)),
            platformOptions: options
        )
    }

    /// A pipe filled with `text`: the command need not read it, and nobody waits until it does.
    private static func standardInput(_ text: String?) throws -> FileDescriptorInput {
        guard let text else { return .currentStandardInput }
        let (readEnd, writeEnd) = try FileDescriptor.pipe()
        do {
            try writeEnd.closeAfter {
                try writeEnd.hold(text.utf8.count)
                try writeEnd.writeAll(text.utf8)
            }
        } catch {
            try readEnd.close()
            throw error
        }
        return .fileDescriptor(readEnd, closeAfterSpawningProcess: true)
    }
}

extension RuntimeDirectory {
    /// The path for a process that may change its directory.
    fileprivate var absolutePath: String {
        guard !self.path.hasPrefix("/"), let own = getcwd(nil, 0) else { return self.path }
        defer { free(own) }
        return "\(String(cString: own))/\(self.path)"
    }
}

extension FileDescriptor {
    /// What a pipe holds by default, by pipe(7).
    private static let pipeBytes = 65536
    /// F_SETPIPE_SZ of fcntl(2), which Glibc's module leaves out.
    private static let setPipeSize: CInt = 1031

    /// Makes a pipe large enough for that many bytes to be written although nobody reads.
    fileprivate func hold(_ count: Int) throws {
        guard count > Self.pipeBytes else { return }
        // Any user may have 1 MiB, which is as long as a line may be.
        guard fcntl(self.rawValue, Self.setPipeSize, CInt(count)) >= count else {
            throw Errno(rawValue: errno)
        }
    }
}

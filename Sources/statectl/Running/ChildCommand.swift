@preconcurrency import Glibc
import Processes
import StateMachineClient
import StateMachineCore
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
        begun: (pid_t) -> Void = { _ in }
    ) async -> Ending {
        do throws(Refusal) {
            let process = try self.start(environment, input, errors: nil)
            begun(process.pid)
            return await Self.ending(of: process, timeout)
        } catch {
            return error.ending
        }
    }

    /// Runs it to its end as ``run(environment:input:timeout:begun:)`` does, and keeps the first line
    /// that it writes to standard error, which is passed on.
    func runKeepingComplaint(
        environment: [String: String?],
        input: String,
        timeout: Duration = grace
    ) async -> (ending: Ending, complaint: String?) {
        do throws(Refusal) {
            let errors: ErrorReader
            do {
                errors = try ErrorReader()
            } catch {
                throw Refusal(ending: .notStarted("\(error)"))
            }
            let process: RunningProgram
            do throws(Refusal) {
                process = try self.start(environment, input, errors: errors.writeEnd)
            } catch {
                errors.end()
                throw error
            }
            errors.begin()
            let ending = await Self.ending(of: process, timeout)
            errors.end()
            return (ending, await errors.firstLine)
        } catch {
            return (error.ending, nil)
        }
    }

    /// Why there is no process.
    private struct Refusal: Error {
        let ending: Ending
    }

    private func start(
        _ updates: [String: String?],
        _ text: String?,
        errors: CInt?
    ) throws(Refusal) -> RunningProgram {
        // Where there is no PATH, as confstr(3) has it.
        let directories = getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
        let name = Array(self.words[0].utf8)
        guard let path = ProgramStart.path(of: name, in: Array(directories.utf8)) else {
            throw Refusal(ending: .notFound)
        }
        var program = ProgramStart(
            path: path,
            words: self.words.map { Array($0.utf8) },
            environment: self.environment(updates)
        )
        program.errors = errors
        let input: FileDescriptor?
        do {
            input = try text.map(Self.standardInput)
        } catch {
            throw Refusal(ending: .notStarted("\(error)"))
        }
        defer { input.map { _ = close($0.rawValue) } }
        program.input = input?.rawValue
        do throws(ProgramStart.Failure) {
            return try program.start()
        } catch {
            switch error {
            case .program(ENOENT): throw Refusal(ending: .notFound)
            case .program(let code), .directory(let code), .scarcity(let code):
                throw Refusal(ending: .notStarted(String(cString: strerror(code))))
            }
        }
    }

    private static func ending(of process: RunningProgram, _ timeout: Duration) async -> Ending {
        let end = await withTaskCancellationHandler {
            await process.end()
        } onCancel: {
            process.stop(killingAfter: timeout)
        }
        switch end {
        case .exited(let code): return .exited(code)
        case .signalled(let signal): return .signalled(signal)
        }
    }

    /// This process's variables, byte for byte, with those that are added.
    private func environment(_ updates: [String: String?]) -> [[UInt8]] {
        var updates = updates
        if let directory { updates[RuntimeDirectory.variable] = directory.absolutePath }
        var variables: [[UInt8]] = []
        var next = environ
        while let variable = next.pointee {
            let bytes = UnsafeBufferPointer(start: variable, count: strlen(variable))
                .map { UInt8(bitPattern: $0) }
            let name = bytes.prefix { $0 != UInt8(ascii: "=") }
            if updates[String(decoding: name, as: UTF8.self)] == nil { variables.append(bytes) }
            next += 1
        }
        for (name, value) in updates {
            guard let value else { continue }
            variables.append(Array("\(name)=\(value)".utf8))
        }
        return variables
    }

    /// A pipe filled with `text`: the command need not read it, and nobody waits until it does.
    private static func standardInput(_ text: String) throws -> FileDescriptor {
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
        try readEnd.closeOnExec()
        return readEnd
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
    /// Leaves it to no other program.
    fileprivate func closeOnExec() throws {
        guard fcntl(self.rawValue, F_SETFD, FD_CLOEXEC) == 0 else { throw Errno(rawValue: errno) }
    }

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

extension ChildCommand {
    /// How a command ended, or why it did not begin.
    enum Ending: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)
        /// There is no such program.
        case notFound
        /// The system would not start it.
        case notStarted(String)

        /// The status as in a shell's `$?`.
        var status: Int32 {
            switch self {
            case .exited(let code): code
            case .signalled(let signal): 128 + signal
            case .notFound: 127
            case .notStarted: 126
            }
        }

        /// What to say about a command that did not succeed; nil if it did.
        func complaint(about command: ChildCommand) -> String? {
            let name = command.words[0].printable
            return switch self {
            case .exited(0): nil
            case .exited(let code): "\(name) ended with status \(code)"
            case .signalled(let signal): "\(name) was ended by signal \(signal)"
            case .notFound: "there is no command \(name)"
            case .notStarted(let why): "\(name) could not be started: \(why.printable)"
            }
        }
    }

    /// The first line of a command's output, as far as the protocol has room for it.
    struct FirstLine: Sendable {
        /// The protocol's limit for a `why`.
        private static let limit = 256

        private var bytes: [UInt8] = []
        private var isWhole = false

        mutating func append(_ more: [UInt8]) {
            guard !self.isWhole else { return }
            let line = more.prefix { $0 != UInt8(ascii: "\n") }
            // One byte beyond the limit shows where a character is cut in two.
            self.bytes += line.prefix(Self.limit + 1 - self.bytes.count)
            self.isWhole = line.count < more.count || self.bytes.count > Self.limit
        }

        /// The line; nil if there is nothing in it.
        var text: String? {
            var characters = ""
            for character in String(decoding: self.bytes, as: UTF8.self) {
                let longer = characters + String(character)
                guard longer.utf8.count <= Self.limit else { break }
                characters = longer
            }
            return characters.allSatisfy(\.isWhitespace) ? nil : characters
        }
    }
}

/// An end of this process that something else determines.
enum ProcessEnd: Error, Equatable {
    /// With the status of the command that it ran.
    case status(Int32)
    /// By a signal that it has received.
    case signal(CInt)

    /// Ends this process.
    func perform() -> Never {
        switch self {
        case .status(let code): Glibc.exit(code)
        case .signal(let number): Signals.end(by: number)
        }
    }
}

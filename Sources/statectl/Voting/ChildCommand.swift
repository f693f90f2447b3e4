import Dispatch
@preconcurrency import Glibc
import Processes
import StateMachineClient
import StateMachineCore
import SystemPackage

/// A command as it stands on the command line: a program and its arguments, no shell.
///
/// It ends with this process.
struct ChildCommand: Sendable {
    /// How long a command that is told to end, as this process has ended or no longer wants it, may take before it is
    /// killed.
    ///
    /// 10 s: the time that container runtimes give.
    static let grace = Duration.seconds(10)

    /// The program, looked up in PATH unless it has a slash, and its arguments, byte for byte.
    private let words: [[UInt8]]
    /// The directory of the daemon that it runs for, so that a client in it asks the same one.
    var directory: RuntimeDirectory?

    /// Nil without any word.
    init?(bytes words: [[UInt8]]) {
        guard !words.isEmpty else { return nil }
        self.words = words
    }

    /// The same of words that are UTF-8.
    init?(_ words: [String]) { self.init(bytes: words.map { Array($0.utf8) }) }

    /// What the program is called, for people.
    var name: String { String(decoding: self.words[0], as: UTF8.self).printable }

    /// Where the program is.
    private func path() throws(Ending) -> [UInt8] {
        // Where there is no PATH, as confstr(3) has it.
        let directories = getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
        do throws(ProgramStart.Failure) {
            return try ProgramStart.path(of: self.words[0], in: Array(directories.utf8))
        } catch {
            throw switch error {
            case .program(ENOENT): .notFound
            case .program(EISDIR): .notStarted("it is a directory")
            case .program, .directory, .scarcity: .notStarted("permission denied")
            }
        }
    }

    /// Throws if the command cannot be started.
    ///
    /// - Throws: ``ProcessEnd`` with a shell's status for that, once the reason has been reported.
    func check() throws(ProcessEnd) {
        do {
            _ = try self.path()
        } catch {
            if let complaint = error.complaint(about: self) { StandardError.say(complaint) }
            throw .status(error.status)
        }
    }

    /// Runs it to its end.
    ///
    /// If the task is cancelled, or this process ends, the command is ended.
    ///
    /// - Parameters:
    ///   - environment: variables added to this process's; nil unsets one.
    ///   - input: its standard input; nil leaves it this process's own.
    ///   - output: its standard output; nil leaves it this process's own.
    ///   - errors: its standard error; nil leaves it this process's own.
    ///   - descriptor: what stays open as long as anything of the command is there, also after this process.
    ///   - grace: how long after SIGTERM it is killed.
    ///   - begun: called once it has been started.
    /// - Returns: how it ended.
    func run(
        environment: [String: String?] = [:],
        input: String? = nil,
        output: CInt? = nil,
        errors: CInt? = nil,
        keeping descriptor: CInt? = nil,
        grace: Duration = grace,
        begun: (KeptCommand) -> Void = { _ in }
    ) async -> Ending {
        let process: KeptCommand
        do throws(Ending) {
            let path = try self.path()
            do throws(ProgramStart.Failure) {
                process = try KeptCommand(
                    path: path,
                    words: self.words,
                    environment: self.environment(environment),
                    streams: KeptCommand.Streams(
                        input: input.map { Array($0.utf8) },
                        output: output,
                        errors: errors
                    ),
                    keeping: descriptor,
                    grace: grace
                )
            } catch {
                throw Ending(error)
            }
        } catch {
            return error
        }
        begun(process)
        return await withTaskCancellationHandler {
            Ending(await process.end())
        } onCancel: {
            process.stop()
        }
    }

    /// Runs it to its end, and keeps the first line that it writes to standard error, which is passed on.
    func runKeepingComplaint(
        environment: [String: String?],
        input: String
    ) async -> (ending: Ending, complaint: String?) {
        let errors: ErrorReader
        do {
            errors = try ErrorReader()
        } catch {
            return (.notStarted("\(error)"), nil)
        }
        return await errors.during {
            await self.run(environment: environment, input: input, errors: errors.writeEnd)
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
}

extension RuntimeDirectory {
    /// The path for a process that may change its directory.
    fileprivate var absolutePath: String {
        guard !self.path.hasPrefix("/"), let own = getcwd(nil, 0) else { return self.path }
        defer { free(own) }
        return "\(String(cString: own))/\(self.path)"
    }
}

extension ChildCommand {
    /// How a command ended, or why it did not begin.
    enum Ending: Error, Equatable {
        case exited(Int32)
        case signalled(Int32)
        /// There is no such program.
        case notFound
        /// The system would not start it.
        case notStarted(String)
        /// It could not be ended: something of it is still there.
        case left

        fileprivate init(_ end: KeptCommand.End) {
            switch end {
            case .exited(let code): self = .exited(code)
            case .signalled(let signal): self = .signalled(signal)
            case .notStarted(let code): self.init(.program(code))
            case .left: self = .left
            }
        }

        fileprivate init(_ failure: ProgramStart.Failure) {
            switch failure {
            case .program(ENOENT): self = .notFound
            case .program(let code), .directory(let code), .scarcity(let code):
                self = .notStarted(String(cString: strerror(code)))
            }
        }

        /// The status as in a shell's `$?`.
        var status: Int32 {
            switch self {
            case .exited(let code): code
            case .signalled(let signal): 128 + signal
            case .notFound: 127
            case .notStarted: 126
            case .left: 128 + SIGKILL
            }
        }

        /// What to say about a command that did not succeed; nil if it did.
        func complaint(about command: ChildCommand) -> String? {
            let name = command.name
            return switch self {
            case .exited(0): nil
            case .exited(let code): "\(name) ended with status \(code)"
            case .signalled(let signal): "\(name) was ended by signal \(signal)"
            case .notFound: "there is no command \(name)"
            case .notStarted(let why): "\(name) could not be started: \(why.printable)"
            case .left: "\(name) could not be ended, and something of it still runs"
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

/// Reads what a command writes to its standard error, passes it on and keeps the first line.
///
/// Guarded state: `line`, behind its lock.
final class ErrorReader: Sendable {
    /// The end that the command has.
    let writeEnd: CInt
    private let readEnd: CInt
    private let line = Lock(ChildCommand.FirstLine())
    private let queue = DispatchQueue(label: "statectl.errors")

    init() throws {
        let (readEnd, writeEnd) = try FileDescriptor.pipe()
        (self.readEnd, self.writeEnd) = (readEnd.rawValue, writeEnd.rawValue)
        for end in [self.readEnd, self.writeEnd] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(self.readEnd, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(self.readEnd)
        close(self.writeEnd)
    }

    /// Does that, reading meanwhile; then reads what is left, as what the command has left behind may write for ever.
    ///
    /// - Returns: what `body` returns, and the first line.
    func during<Result>(_ body: () async -> Result) async -> (Result, String?) {
        let source = ReadSource(self.readEnd, on: self.queue) { self.drain() }
        let result = await body()
        await source.cancel()
        self.drain()
        return (result, self.line.withLock { $0.text })
    }

    /// Reads what is there.
    private func drain() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = read(self.readEnd, &buffer, buffer.count), count > 0 {
            let bytes = Array(buffer[..<count])
            StandardError.pass(bytes)
            self.line.withLock { $0.append(bytes) }
        }
    }
}

/// Says when there is something to read from a descriptor.
///
/// It is only ever cancelled, which may be done from any thread; that makes `@unchecked Sendable` true.
final class ReadSource: @unchecked Sendable {
    private let source: any DispatchSourceRead

    init(_ descriptor: CInt, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        self.source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        self.source.setEventHandler(handler: body)
        self.source.activate()
    }

    /// Returns when the body is not called any more.
    func cancel() async {
        await withCheckedContinuation { continuation in
            self.source.setCancelHandler { continuation.resume() }
            self.source.cancel()
        }
    }

    func end() { self.source.cancel() }
}

import ArgumentParser
import Glibc
import Processes
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import StateMachineSQLite
import SystemPackage

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a file that declares a machine.",
        discussion: """
            Prints every error and warning with its line, and for a good file when each command is \
            tried again after a failure. With --strict it also warns of a word that begins with a field, where the \
            program might take what was sent for an option. Exit codes: 0 good, 78 not.

            Examples:

              statectl check lamp.yaml
              statectl check --strict lamp.yaml
            """
    )

    @Argument(help: "The file.", completion: .file(extensions: ["yaml"]))
    var file: String

    @Flag(help: "Treat warnings as errors.")
    var strict = false

    func run() throws {
        let reading = try DeclaredMachine.file(self.file).checked(isStrict: self.strict)
        for problem in reading.problems { StandardError.write(problem.line(in: self.file)) }
        guard let declaration = reading.declaration, !reading.isRefused(strict: self.strict) else {
            throw ExitStatus.configuration
        }
        for state in declaration.states {
            for (key, command) in state.keyedCommands {
                guard let retry = command.retry?.schedule else { continue }
                let isBegunAgain = key == "run" && state.run?.restarts == true
                let what = isBegunAgain ? "begun again whenever it ends," : "tried again"
                let line = "\(state.name), \(key) \(command.written): \(what) \(retry)"
                try StandardOutput.offer(line.printable)
            }
        }
    }
}

struct TryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Play a trace against a machine's file.",
        discussion: """
            A trace has a step a line, and after -> the state that is expected then:

              send offer url=u version=2 -> downloading
              run ends 1 x6 -> idle result=refused
              run is killed by SIGSEGV
              run times out
              run is interrupted
              set maintenance who=me
              update volume=3 tries+=1
              wait 24h -> idle
              at 2000-01-02T12:00:00Z -> open
              reboot -> idle
              set playing title=a -> refused
              as anna, @operators: send accept -> refused
              see heater hot celsius=93

            "refused" is a request that the machine refuses; it changes nothing. "as" names the user who asks, and its groups; \
            without it root does. "see" says in which state a linked machine is, and without one that it cannot be seen, as at the \
            beginning. # begins a comment. The clock begins on 2000-01-01, and time passes only \
            with wait and at, until a timeout, and between retries; a run is retried, and leads on, as with \
            statemachine-runner, and each reboot interrupts what runs by then. --verbose says after each step where it led, \
            and where there are cases, which was taken and why none before it was. Exit codes: 0 as expected, 1 not, \
            78 the file has errors.

            Examples:

              statectl try lamp.yaml lamp.trace
              echo "send move -> dim" | statectl try lamp.yaml /dev/stdin
            """
    )

    @Argument(help: "The file that declares the machine.", completion: .file(extensions: ["yaml"]))
    var file: String

    @Argument(help: "The trace.", completion: .file())
    var trace: String

    @Flag(name: .shortAndLong, help: "Say where each step leads, and by which case.")
    var verbose = false

    func run() throws {
        let declaration = try DeclaredMachine.declaration(self.file)
        let text = try DeclaredMachine.text(of: self.trace)
        var told: [String] = []
        let result = Result { () throws(TraceFailure) in
            try Trace(text).run(on: declaration) { line, state, choices in
                let way = ["\(line): \(state.written)"] + choices
                if self.verbose { told.append(way.joined(separator: "; ").printable) }
            }
        }
        for line in told { try StandardOutput.offer(line) }
        switch result {
        case .success(let state):
            try StandardOutput.offer("as expected; at the end: \(state.written.printable)")
        case .failure(let failure):
            StandardError.write(failure.text(in: self.trace).printable)
            throw ExitStatus.no
        }
    }
}

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Show which past changes a file would not allow.",
        discussion: """
            Reads the changes that a daemon has recorded, and writes nothing; the daemon may be running. States are carried \
            over as they would be at a start with the file, renamed ones too. The record does not say whether a \
            change was a set or an event: it counts as allowed if either may lead there. Exit codes: 0 all would be \
            allowed, 1 some would not, 2 the database cannot be read, 78 the file has errors.

            Examples:

              statectl replay lamp.yaml statemachine.sqlite
              statectl replay new.yaml . || echo "some changes would be refused"
            """
    )

    @Argument(help: "The file that declares the machine.", completion: .file(extensions: ["yaml"]))
    var file: String

    @Argument(
        help: "The database, or the state directory that it is in, as /var/lib/statemachine.",
        completion: .file(extensions: ["sqlite"])
    )
    var database: String

    func run() throws {
        let declaration = try DeclaredMachine.declaration(self.file)
        var count = 0
        var refused = 0
        let progress = Progress("looking through")
        defer { progress.end() }
        let recorded = try RecordedChanges(self.database)
        let whole = try recorded.count()
        while case let changes = try recorded.next(), !changes.isEmpty {
            // The first entry is the beginning, not a change.
            for change in changes where change.old != nil {
                count += 1
                progress.show(UInt64(count), of: whole)
                guard let objection = declaration.objection(to: change) else { continue }
                refused += 1
                progress.end()
                try StandardOutput.write("\(Self.text(change)): \(objection.printable)")
            }
        }
        progress.end()
        let changes = "\(count) \(count == 1 ? "change" : "changes")"
        try StandardOutput.offer(
            refused == 0
                ? "\(changes), all of which would be allowed"
                : "\(refused) of \(changes) would not be allowed"
        )
        if refused > 0 { throw ExitStatus.no }
    }

    /// `#17  menu → playing(title: "x")`.
    private static func text(_ change: RecordedTransition) -> String {
        let states = [change.old, change.new].compactMap(\.self).map { state in
            NamedState(state.name, JSONValue(parsing: state.data)?.members ?? []).text
        }
        return "#\(change.seq)  \(states.joined(separator: " → "))"
    }
}

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of machines' files, for editors.",
        discussion: """
            Examples:

              statectl schema >machine.schema.json
              statectl schema | head -n 3
            """
    )

    func run() throws { try StandardOutput.offer(DeclarationSchema.text) }
}

struct CodegenCommand: DaemonCommand {
    /// In which language the types are written.
    enum Language: String, CaseIterable, ExpressibleByArgument {
        case python
        case typescript
    }

    static let configuration = CommandConfiguration(
        commandName: "codegen",
        abstract: "Write states and events as Python or TypeScript.",
        discussion: """
            A Python dataclass or a TypeScript interface for each state and each event, named after it, such as \
            PlayingState and PlayEvent, of the daemon's machine or of a file. They use only the language's standard \
            library, and the output is the same each time. Exit codes: 0 written, 78 the file has errors.

            Examples:

              statectl codegen python >lamp.py
              statectl codegen typescript lamp.yaml >lamp.ts
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: "The language.")
    var language: Language

    @Argument(
        help: "The file that declares the machine; without it the daemon's machine is asked.",
        completion: .file(extensions: ["yaml"])
    )
    var file: String?

    func validate() throws {
        try demand(!self.options.json, "codegen has no --json; use statectl --json describe")
    }

    func run() async throws {
        let types = try await self.types()
        switch self.language {
        case .python: try StandardOutput.offer(PythonText.text(types))
        case .typescript: try StandardOutput.offer(TypeScriptText.text(types))
        }
    }

    private func types() async throws -> MachineTypes {
        if let file = self.file {
            return MachineTypes(description: try DeclaredMachine.declaration(file).described)
        }
        let description = try await self.options.client.accepted(.describe)
        return MachineTypes(description: description.value)
    }
}

/// Reads the files that commands about declared machines are given.
enum DeclaredMachine {
    /// The most bytes of a trace.
    ///
    /// 1 MiB: tens of thousands of lines.
    private static let traceBytes = 1 << 20

    /// A file, whatever it says.
    static func file(_ path: String) throws -> DeclarationFile {
        do {
            return try DeclarationFile(path: path)
        } catch {
            throw Refusal(error.sentence.printable, .configuration)
        }
    }

    /// The machine that a file declares, for those who run none of its commands; its errors go to
    /// standard error.
    static func declaration(_ path: String) throws -> Declaration {
        let reading = DeclarationReading(try self.file(path).bytes)
        guard let declaration = reading.declaration else {
            for problem in reading.problems { StandardError.write(problem.line(in: path)) }
            throw ExitStatus.configuration
        }
        return declaration
    }

    /// The text of a trace.
    static func text(of path: String) throws -> String {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.bytes(of: path, atMost: Self.traceBytes + 1)
        } catch {
            throw Refusal("cannot read \(path.printable): \(error)")
        }
        guard bytes.count <= Self.traceBytes, let text = String(validating: bytes, as: UTF8.self)
        else {
            throw Refusal("\(path.printable) is not a trace: it is longer than 1 MiB, or not UTF-8")
        }
        return text
    }
}

/// The changes in a daemon's database, read without writing anything, while the daemon runs or not.
///
/// The table is documented for other readers: see the documentation of StateMachineHistory.
final class RecordedChanges {
    /// Rows read at a time: a reader that stays in the database keeps its log from being cut.
    private static let rows = 1000

    /// How long to wait for a daemon that has the database locked.
    private static let timeout = Duration.seconds(5)

    private let path: String
    private let database: Database
    private var last: Int64 = -1

    /// Opens the database.
    ///
    /// - Parameter path: the database, or the directory that it is in.
    /// - Throws: `Refusal`.
    init(_ path: String) throws(Refusal) {
        let path = Self.isDirectory(path) ? "\(path)/statemachine.sqlite" : path
        self.path = path
        guard access(path, R_OK) == 0 else {
            throw Refusal(
                "cannot read \(path): \(String(cString: strerror(errno)))".printable,
                .usage
            )
        }
        // A database that was closed has no log. Nobody writes to it then, and no file may appear
        // beside it.
        let hasLog = access("\(path)-wal", F_OK) == 0
        do {
            self.database = try Database(
                path,
                hasLog ? .readOnly : .unchanging,
                timeout: Self.timeout
            )
        } catch {
            throw Refusal("cannot read \(path): \(error.message)".printable, .usage)
        }
    }

    /// The next changes in their order; none at the end.
    func next() throws(Refusal) -> [RecordedTransition] {
        let sql = """
            SELECT change.seq, change.at, change.state, change.data,
                coalesce(change.fromState, before.state), coalesce(change.fromData, before.data),
                change.uid, change.pid, change.cause
            FROM change LEFT JOIN change AS before
                ON before.seq = change.seq - 1 AND change.fromState IS NULL
            WHERE change.seq > ? ORDER BY change.seq LIMIT ?
            """
        return try self.read { database in
            try database.all(sql, self.last, Self.rows) { row in
                self.last = row.integer(0)
                return Self.change(row)
            }
        }
    }

    /// About how many there are: the numbers from the first to the last.
    func count() throws(Refusal) -> UInt64 {
        // Each end is found by itself in the order of the rows.
        let sql =
            "SELECT (SELECT min(seq) FROM change WHERE seq > 0), (SELECT max(seq) FROM change)"
        return try self.read { database in
            try database.first(sql) { UInt64(clamping: $0.integer(1) - $0.integer(0) + 1) } ?? 0
        }
    }

    private func read<Value>(_ body: (Database) throws -> Value) throws(Refusal) -> Value {
        do {
            return try body(self.database)
        } catch {
            let reason = (error as? SQLiteError)?.message ?? "\(error)"
            throw Refusal(
                "cannot read \(self.path) as a history: \(reason)".printable,
                .usage
            )
        }
    }

    private static func change(_ row: Statement) -> RecordedTransition {
        RecordedTransition(
            seq: UInt64(clamping: row.integer(0)),
            old: row.text(4).map { .init(name: $0, data: row.text(5) ?? "{}") },
            new: .init(name: row.text(2) ?? "", data: row.text(3) ?? "{}"),
            at: WallTime(microseconds: row.integer(1)),
            cause: row.text(8),
            by: row.isNull(6)
                ? nil
                : Peer(uid: UInt32(clamping: row.integer(6)), pid: Int32(clamping: row.integer(7)))
        )
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

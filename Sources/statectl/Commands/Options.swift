public import ArgumentParser
import Glibc
import Processes
public import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// A command that is about a daemon, whose refusal ends it.
protocol DaemonCommand: AsyncParsableCommand {
    var options: SharedOptions { get }
}

/// The options of every command.
struct SharedOptions: ParsableArguments {
    /// How often to look for a door that is not there.
    ///
    /// 250 ms: soon enough for people, and no load for a machine. Not tuned.
    private static let pause = Duration.milliseconds(250)

    @Option(
        help: .value(
            "dir",
            "Where the daemon's sockets are.",
            """
            Default: $STATEMACHINE_RUNTIME_DIRECTORY, else /run/statemachine, else \
            (except for root) $XDG_RUNTIME_DIR/statemachine.
            """
        ),
        completion: .directory
    )
    var runtimeDirectory: String?

    @Option(
        name: [.customShort("m", allowingJoined: true), .long],
        help: .value(
            "name",
            "Which machine: the name of its instance.",
            """
            Looked for in $STATEMACHINE_RUNTIME_DIRECTORY, then beside it if it is a machine's own, then among the system's, \
            then among this user's; statectl machines lists them. For get, is, watch, history, timeline, stats and top it may be given several times.
            """
        ),
        completion: .instances
    )
    var machine: [String] = []

    @Flag(help: "Print the protocol's lines as they are.")
    var json = false

    @Flag(help: "Show times, and read them, in UTC and not in local time.")
    var utc = false

    @Option(help: "When to colour the text.")
    var color = ColorChoice.auto

    func validate() throws {
        try demand(self.runtimeDirectory != "", "--runtime-directory is empty; name the directory")
        for name in self.machine where !Instance.isName(name) {
            throw ValidationError(
                "\"\(name)\" is not the name of a machine: it is empty or contains \"/\""
            )
        }
        guard self.runtimeDirectory == nil || self.machine.isEmpty else {
            throw ValidationError(
                "--machine and --runtime-directory cannot be used together; give one"
            )
        }
    }
}

/// Refuses a command line, in those words, unless the condition is true.
func demand(_ isRight: Bool, _ objection: @autoclosure () -> String) throws {
    guard isRight else { throw ValidationError(objection()) }
}

extension ArgumentHelp {
    /// The help of what takes a value, which is called that.
    static func value(_ name: String, _ abstract: String, _ more: String = "") -> ArgumentHelp {
        ArgumentHelp(abstract, discussion: more, valueName: name)
    }
}

extension Pattern: ExpressibleByArgument {
    /// The pattern that is typed.
    public init?(argument: String) { self.init(typed: argument) }

    /// States, groups and values that the daemon knows.
    public static var defaultCompletionKind: CompletionKind { .offering { await $0.patterns } }

    /// The pattern as a text, which is how most are typed.
    var text: String { self.written.string ?? self.written.description }
}

/// When text is coloured.
enum ColorChoice: String, CaseIterable, ExpressibleByArgument {
    case auto
    case always
    case never

    func style(isTerminal: Bool, environment: (String) -> String?) -> Style {
        switch self {
        case .always: return .coloured
        case .never: return .plain
        case .auto:
            // no-color.org: set, and not empty.
            let isUnwanted = !(environment("NO_COLOR") ?? "").isEmpty
            return isTerminal && environment("TERM") != "dumb" && !isUnwanted ? .coloured : .plain
        }
    }
}

/// The option of commands that can be about several machines.
struct SeveralMachines: ParsableArguments {
    @Flag(help: "All machines that statectl machines lists, each line with the machine's name.")
    var all = false

    /// The machines that the command is about, one at least; those options are about one.
    ///
    /// - Throws: `ValidationError`, or ``ClientError/notFound(tried:)`` if there is none.
    func targets(
        _ options: SharedOptions,
        _ format: FormatOption? = nil,
        one: [(isGiven: Bool, name: String)] = []
    ) throws -> [MachineTarget] {
        let format = try format?.parsed
        guard self.all || options.machine.count > 1 else {
            return [MachineTarget(options: options, format: format)]
        }
        let machines = try self.machines(options)
        if machines.count > 1, let option = one.first(where: \.isGiven)?.name {
            throw ValidationError("\(option) works with one machine only; give --machine once")
        }
        return zip(machines, MachineMark.all(machines.map(\.name))).map { machine, mark in
            MachineTarget(options: machine.options, mark: mark, format: format)
        }
    }

    /// The names of several machines, and the options that name each alone.
    private func machines(
        _ options: SharedOptions
    ) throws -> [(name: String?, options: SharedOptions)] {
        guard self.all else {
            return options.machine.map { name in (name, options.narrowed { $0.machine = [name] }) }
        }
        guard options.machine.isEmpty, options.runtimeDirectory == nil else {
            throw ValidationError(
                "--all means every machine; leave --machine and --runtime-directory out"
            )
        }
        let instances = Instance.all()
        guard !instances.isEmpty else { throw ClientError.notFound(tried: Instance.directories) }
        return instances.map { instance in
            (instance.name, options.narrowed { $0.runtimeDirectory = instance.directory.path })
        }
    }
}

/// The option of commands that show lines.
struct FormatOption: ParsableArguments {
    @Option(
        help: .value(
            "text",
            "Show each line as this text, with names in braces replaced.",
            """
            {state}, {seq}, {at}, {age}, {cause}, {by}, {from}, {cursor}, {stayCursor} (for --if-stay), {event}, {instance}, the name of any \
            field of a state, as {phase}, and with dots what is inside, as {by.uid}, {by.unit} or {sub.x}. A field that the \
            state does not have is shown as nothing. {name:json} is the value as JSON, with its quotes. \\n and \\t are a line's end and a tab, {{ and }} are braces.
            """
        )
    )
    var format: String?

    /// The format that was given.
    var parsed: LineFormat? { get throws { try self.format.map { try LineFormat($0) } } }

    func validate() throws {
        try demand(self.format != "", "--format is empty; name what to show, as in '{state}'")
        _ = try self.parsed
    }

    /// Reports an option that excludes it.
    func check(beside options: SharedOptions) throws {
        guard self.format == nil || !options.json else {
            throw ValidationError("--format and --json cannot be used together; give one")
        }
    }
}

extension SharedOptions {
    var client: Client {
        get throws {
            guard self.machine.count < 2 else {
                throw ValidationError("this command takes one machine; give --machine once")
            }
            return Client(try .find(path: self.runtimeDirectory, instance: self.machine.first))
        }
    }

    /// The same, once a door can be seen where one is looked for.
    ///
    /// - Parameters:
    ///   - isPatient: whether to wait for that; what is awaited is said once.
    ///   - timeout: for how long at most; nil means for ever. Reduced by the time that it took.
    /// - Returns: the client; whether a daemon answers it is not known.
    /// - Throws: ``ExitStatus/timeout``, or why there is no client.
    func client(isPatient: Bool, within timeout: inout Duration?) async throws -> Client {
        let clock = QuietClock()
        let end = timeout.map { clock.now.advanced(by: $0) }
        var hasSaid = false
        while true {
            do {
                let client = try self.client
                if let end, hasSaid { timeout = max(.zero, clock.now.duration(to: end)) }
                return client
            } catch let error as ClientError where isPatient {
                if !hasSaid { StandardError.say(error.awaiting) }
                hasSaid = true
            }
            let next = clock.now.advanced(by: Self.pause)
            try await clock.sleep(until: min(end ?? next, next), tolerance: nil)
            if let end, clock.now >= end {
                throw Refusal("no daemon came within the timeout", .timeout)
            }
        }
    }

    var text: LineText {
        let style = self.color.style(isTerminal: StandardOutput.isTerminal) { name in
            getenv(name).map { String(cString: $0) }
        }
        return LineText(
            style: style,
            now: .now,
            userName: { Account(of: $0)?.name },
            host: HostName.current,
            localTime: { LocalTime($0, inUTC: self.utc) },
            width: StandardOutput.columns
        )
    }

    /// Prints a line as it is, or what `text` makes of it for people.
    func print(_ line: Line, as text: (LineText) -> String) throws {
        try MachineTarget(options: self).print(line, as: text)
    }

    fileprivate func narrowed(_ body: (inout SharedOptions) -> Void) -> SharedOptions {
        var options = self
        (options.machine, options.runtimeDirectory) = ([], nil)
        body(&options)
        return options
    }

    /// Ends the command because of a refusal: with `--json` the reply is the output, else its
    /// message goes to standard error.
    func refuse(_ reply: Line) throws -> Never {
        let status = ExitStatus(.refused(reply))
        guard self.json else { throw Refusal(self.text.refusal(reply), status) }
        try StandardOutput.offer(reply.text)
        throw status
    }
}

/// Checks for what the daemon would refuse, to say so in the words of the command line.
enum OptionLimits {
    /// Checks the length of a text for people, as the protocol limits it.
    static func checkText(_ option: String, _ text: String?) throws {
        guard let text, text.utf8.count > RequestLimits.causeBytes else { return }
        throw ValidationError(
            "\(option) is too long: it has \(text.utf8.count) bytes, and may have \(RequestLimits.causeBytes)"
        )
    }

    /// Checks the name of a required guard or a hold.
    static func checkName(_ option: String, _ name: String?) throws {
        guard let name, !RequestLimits.isRequirementName(name) else { return }
        throw ValidationError(
            "\(option) must be a name of at most \(RequestLimits.requirementNameBytes) "
                + "letters, digits and any of \"-_.:@\", not \"\(name.printable)\""
        )
    }

    /// Checks how long a vote or a delay may take.
    static func checkVote(_ option: String, _ time: Seconds?) throws {
        let longest = Duration.milliseconds(RequestLimits.voteMs)
        guard let time, time.duration > longest else { return }
        throw ValidationError("\(option) must be at most \(RequestLimits.voteMs / 1000)s")
    }

    /// Checks how often there may be signs of life.
    static func checkBeat(_ option: String, _ time: Seconds?) throws {
        guard let time, time.duration < .milliseconds(RequestLimits.leastBeatMs) else { return }
        throw ValidationError("\(option) must be at least \(RequestLimits.leastBeatMs)ms")
    }

    /// Checks patterns of what must not be, which say so once.
    static func checkExceptions(
        _ option: String,
        _ patterns: [Pattern],
        instead other: String
    ) throws {
        guard let pattern = patterns.first(where: \.isException) else { return }
        throw ValidationError("\(option) takes no \"!\"; write \(other) \((!pattern).text)")
    }

    /// Checks the shape of a cursor; whether it is of this numbering only the daemon knows.
    static func checkCursor(_ option: String, _ text: String?) throws {
        guard let text, Cursor(text) == nil else { return }
        throw ValidationError(
            "\(option) takes a cursor here, as in {cursor}; for a time, use statectl history --since"
        )
    }

    /// Checks the number of a change or of a stay.
    static func checkNumber(_ option: String, _ change: ExpectedChange?) throws {
        guard case .seq(let number)? = change, number >= RequestLimits.integerBound else { return }
        throw ValidationError("\(option) must be a number below 2^53, not \(number)")
    }
}

/// A span of time as it is typed: as in a machine's file (`200ms`, `30s`, `2min`, `1h30min`, `2d`), or plain seconds.
struct Seconds: ExpressibleByArgument {
    /// 10,000 d: 27 years.
    private static let range: ClosedRange<Int64> = 0...864_000_000_000

    let duration: Duration

    init?(argument: String) {
        do {
            self.duration = try Self.duration(argument)
        } catch {
            // The parser says that there is something; `WordCheck` asks what.
            return nil
        }
    }

    /// The time that a text states.
    static func duration(_ text: String) throws(TimeText.Objection) -> Duration {
        guard let seconds = Double(text), seconds >= 0,
            seconds * 1000 <= Double(self.range.upperBound)
        else { return try TimeText.duration(text, in: self.range) }
        return .microseconds(Int64((seconds * 1_000_000).rounded()))
    }
}

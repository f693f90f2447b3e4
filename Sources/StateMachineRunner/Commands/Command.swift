import Glibc
import Logging
package import Processes
package import StateMachineDeclaration
package import StateMachineProtocol
import SystemPackage

/// What a machine's commands are named after: its name, and the instance's where there is one.
package struct MachineLabel: Hashable, Sendable, CustomStringConvertible {
    /// The declaration's name, else the instance's, else `statemachine`.
    package let machine: String
    /// Nil for the unnamed instance of the system, or of the user.
    package let instance: String?
    /// The path of the daemon's runtime directory: the same file may be tried beside the service.
    package let directory: String

    package init(machine: String, instance: String?, directory: String) {
        self.machine = machine
        self.instance = instance
        self.directory = FilePath(directory).lexicallyNormalized().string
    }

    /// `kiosk`, or `lamp:kitchen`: two instances may have machines of one name, and no name has a colon.
    package var description: String {
        self.instance.map { "\(self.machine):\($0)" } ?? self.machine
    }
}

/// Identifies a command of a machine: no two have the same name at the same time, and the same
/// command of the same stay has it again after the runner restarts.
package struct CommandName: Hashable, Sendable, CustomStringConvertible {
    /// What the command is to the stay.
    package enum Key: Hashable, Sendable {
        case run
        /// With its index among them, from 1.
        case enter(Int)
        case leave(Int)
    }

    package let label: MachineLabel
    package let state: String
    package let key: Key
    /// For a run the seq that began the stay, for a hook the seq of the change.
    package let seq: UInt64

    package init(_ label: MachineLabel, state: String, _ key: Key, seq: UInt64) {
        self.label = label
        self.state = state
        self.key = key
        self.seq = seq
    }

    /// `statemachine-kiosk-menu-run-17`, `statemachine-kiosk-menu-enter-2-17`: a unit's name without its suffix.
    package var description: String {
        "statemachine-\(self.label)-\(self.state)-\(self.key)-\(self.seq)"
    }
}

extension CommandName.Key: CustomStringConvertible {
    /// `run`, `enter-1`, `leave-2`.
    package var description: String {
        switch self {
        case .run: "run"
        case .enter(let position): "enter-\(position)"
        case .leave(let position): "leave-\(position)"
        }
    }

    /// As ``description`` has it.
    package init?(_ text: String) {
        if text == "run" {
            self = .run
            return
        }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let position = Int(parts[1]), position > 0 else { return nil }
        switch parts[0] {
        case "enter": self = .enter(position)
        case "leave": self = .leave(position)
        default: return nil
        }
    }
}

/// A command to be run, with all that a host needs to know.
package struct CommandOrder: Sendable {
    /// Where programs are looked for, as systemd does for a service.
    static let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    package let name: CommandName
    /// For people: what shows it in a list.
    package let title: String
    /// The program and its words, not empty.
    package let words: [String]
    /// What it reads from its standard input.
    package let input: [UInt8]
    /// Variables; a later one of the same name wins.
    package let environment: [DeclaredCommand.Variable]
    /// The declared command: its account, its times, its directory.
    package let command: DeclaredCommand

    /// Whether it can be executed at all: a NUL ends a word, a variable and a path for the kernel.
    package var isSound: Bool {
        let texts = self.words + self.environment.flatMap { [$0.name, $0.value] }
        return !texts.contains { $0.utf8.contains(0) } && self.words.first?.isEmpty == false
    }
}

/// How a command ended.
package struct CommandEnd: Hashable, Sendable {
    /// An exit or a signal that nobody here sent if it ended by itself.
    ///
    /// What could not be executed has systemd's codes: 203 for the program, 200 for the directory, 216 and
    /// 217 for the group and the user (systemd.exec(5)).
    ///
    /// Interrupted if it was stopped, however it ended then: by ``CommandHost/stop(_:)``, or by systemd for
    /// somebody else, as when the machine goes down.
    package let kind: RunEnd
    /// How long it took.
    package let duration: Duration

    package init(_ kind: RunEnd, duration: Duration) {
        self.kind = kind
        self.duration = duration
    }
}

/// Where commands are run: as units of systemd, or as children of this process.
///
/// Calls for one name come one after the other; calls for different names may come at once.
package protocol CommandHost: Sendable {
    /// Whether a command outlives the process that started it, and is found again by its name.
    var outlivesRunner: Bool { get }

    /// Starts a command, unless one of that name exists already, running or ended: that one counts.
    ///
    /// - Throws: `CommandHostError` if it could not be tried, and may be tried again. A missing
    ///   program or an unknown user is an end of the command, not an error.
    func start(_ order: CommandOrder) async throws(CommandHostError)

    /// Waits for the end of a command; its end is kept until it is forgotten.
    ///
    /// - Returns: nil if there is no command of that name.
    /// - Throws: `CommandHostError` if that cannot be known at the moment.
    func end(of name: CommandName) async throws(CommandHostError) -> CommandEnd?

    /// Ends a command by SIGTERM, after its time by SIGKILL; returns when nothing of it is left, or when what is left
    /// has not gone for as long again and so has to be left behind, as ``left`` tells.
    ///
    /// Its end is kept until it is forgotten. Nothing happens if there is no command of that name.
    func stop(_ name: CommandName) async throws(CommandHostError)

    /// Forgets a command that has ended; its name may be used again.
    func forget(_ name: CommandName) async throws(CommandHostError)

    /// The commands of that machine that exist, running or ended, whoever started them.
    func known(of machine: MachineLabel) async throws(CommandHostError) -> [CommandName]

    /// What is left of commands that could not be killed, and that nobody waits for any more.
    var left: [LeftCommand] { get async }
}

/// What is left of a command that could not be killed.
package struct LeftCommand: Hashable, Sendable {
    /// The command's name.
    package let command: String
    /// Why it could not be killed.
    package let why: String
    /// One of its processes; nil where only systemd knows them.
    package let process: ProcessEntry?

    func log(to logger: Logger) {
        var facts: Logger.Metadata = ["command": "\(self.command)", "error": "\(self.why)"]
        facts["pid"] = self.process.map { "\($0.pid)" }
        logger.error(
            "a command cannot be killed, continuing without waiting for it",
            metadata: facts
        )
    }
}

/// A command could not be started, stopped or asked about; says why.
package struct CommandHostError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The names of signals: `SIGKILL`.
package enum SignalName {
    /// Those of signal(7), by their numbers from 1.
    private static let names = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ]

    /// The name of a signal; of a real-time one `SIGRTMIN+3`.
    package static func of(_ number: CInt) -> String {
        let index = Int(number) - 1
        if self.names.indices.contains(index) { return "SIG\(self.names[index])" }
        // glibc keeps the first two, 32 and 33, for itself.
        return number > 34 ? "SIGRTMIN+\(number - 34)" : number == 34 ? "SIGRTMIN" : "SIG\(number)"
    }
}

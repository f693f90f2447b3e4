package import StateMachineDeclaration

/// A command to be run, with all that a host needs to know.
package struct CommandOrder: Sendable {
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

    package init(
        _ name: CommandName,
        title: String,
        words: [String],
        input: [UInt8],
        environment: [DeclaredCommand.Variable],
        command: DeclaredCommand
    ) {
        self.name = name
        self.title = title
        self.words = words
        self.input = input
        self.environment = environment
        self.command = command
    }

    /// Whether it can be executed at all: a NUL ends a word, a variable and a path for the kernel.
    package var isSound: Bool {
        let texts = self.words + self.environment.flatMap { [$0.name, $0.value] }
        return !texts.contains { $0.utf8.contains(0) } && self.words.first?.isEmpty == false
    }
}

/// How a command ended.
package struct CommandEnd: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// By itself. What could not be executed has systemd's codes: 203 for the program, 200 for the
        /// directory, 216 and 217 for the group and the user (systemd.exec(5)).
        case exit(Int)
        /// By a signal that nobody here sent, such as `SIGKILL`.
        case signal(String)
        /// It exceeded its timeout.
        case timeout
        /// It was stopped, however it ended then: by ``CommandHost/stop(_:)``, or by systemd for
        /// somebody else, as when the machine goes down.
        case stopped
    }

    package let kind: Kind
    /// How long it took.
    package let duration: Duration

    package init(_ kind: Kind, duration: Duration) {
        self.kind = kind
        self.duration = duration
    }
}

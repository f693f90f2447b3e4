package import StateMachineProtocol

/// The declaration of one state.
package struct StateDeclaration: Sendable {
    /// What the passage of time does.
    package struct Deadline: Hashable, Sendable {
        /// From the stay's start.
        package let delay: Duration
        package let cases: [Branch]
    }

    /// The command of a stay and where its ends lead.
    package struct Run: Hashable, Sendable {
        package let command: DeclaredCommand
        package let done: [Branch]?
        package let exits: [Int: [Branch]]
        package let failed: [Branch]?
        /// What follows if a stop of the daemon, or a reboot, has ended it; nil if the file does not say: it is run again
        /// at once, three times in a row at the most, and the next one is a failure.
        package let interrupted: [Branch]?
        /// Whether it is begun again whenever it ends, after the pauses of its retry.
        package let restarts: Bool
    }

    package let name: String
    package let about: String?
    /// Its old names.
    package let oldNames: [String]
    package let fields: [Field]
    /// The numbers of the states that a client may set from here, groups expanded, in the file's order.
    package let successors: [Int]
    /// By the events' numbers.
    package let reactions: [Int: [Branch]]
    package let after: Deadline?
    /// Where the first start in a new boot leads; nil if the state goes on.
    package let boot: [Branch]?
    package let run: Run?
    package let enter: [DeclaredCommand]
    package let leave: [DeclaredCommand]
    package let isFinal: Bool
    package let mark: StateMark?

    /// All commands: the run, then those of entering and leaving.
    package var commands: [DeclaredCommand] { self.keyedCommands.map(\.command) }

    /// The same, each with its key in the file.
    package var keyedCommands: [(key: String, command: DeclaredCommand)] {
        (self.run.map { [("run", $0.command)] } ?? []) + self.enter.map { ("enter", $0) }
            + self.leave.map { ("leave", $0) }
    }
}

package import StateMachineProtocol

/// The declaration of one state.
package struct DeclaredCase: Sendable {
    /// What an event does.
    package enum Reaction: Hashable, Sendable {
        /// The state is left for another, or entered anew.
        case enter(DeclaredTarget)
        /// The deadline begins anew.
        case stay
        /// A new stay in the same state.
        case again(DeclaredTarget)
        /// It is handled, and nothing happens.
        case ignore
    }

    /// What the passage of time does.
    package struct Deadline: Hashable, Sendable {
        /// From the stay's start.
        package let delay: Duration
        package let target: DeclaredTarget
    }

    /// The command of a stay and where its ends lead.
    package struct Run: Hashable, Sendable {
        package let command: DeclaredCommand
        package let done: DeclaredTarget?
        package let exits: [Int: DeclaredTarget]
        package let failed: DeclaredTarget?
        /// What follows if a stop of the daemon, or a reboot, has ended it; nil if the file does not say, which means
        /// the same as ``Interruption/again``.
        package let interrupted: Interruption?
        /// Whether it is begun again whenever it ends, after the pauses of its retry.
        package let restarts: Bool
    }

    /// What follows an interruption of a run.
    package enum Interruption: Hashable, Sendable {
        /// It is run again at once, three times in a row at the most; the next one is a failure.
        case again
        case enter(DeclaredTarget)

        /// Where it leads; nil if nowhere by itself.
        package var target: DeclaredTarget? {
            switch self {
            case .again: nil
            case .enter(let target): target
            }
        }
    }

    package let name: String
    package let about: String?
    /// Its old names.
    package let oldNames: [String]
    package let fields: [Field]
    /// The numbers of the states that a client may set from here, groups expanded, in the file's order.
    package let successors: [Int]
    /// By the events' numbers.
    package let reactions: [Int: Reaction]
    package let after: Deadline?
    /// Where the first start in a new boot leads; nil if the state goes on.
    package let boot: DeclaredTarget?
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

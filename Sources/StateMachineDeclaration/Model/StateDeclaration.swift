package import StateMachineProtocol

/// The declaration of one state.
package struct StateDeclaration: Sendable {
    /// What a time does that comes while a stay lasts, or a group is not left.
    package struct Deadline: Hashable, Sendable {
        package enum Moment: Hashable, Sendable {
            case after(Duration)
            /// What the state's field of that name has on entry: a time, or an instant.
            case field(String)
        }

        /// The group whose time it is, and which it is counted from; nil: the stay's.
        package let group: String?
        package let moment: Moment
        package let cases: [Branch]
        /// Which one it is, whatever file declares it: `15min`, `{left}`, `open/30d`.
        package let key: String
        /// Whether one of the cases asks what is seen of other machines.
        let isOpen: Bool

        init(group: String?, moment: Moment, cases: [Branch]) {
            self.group = group
            self.moment = moment
            self.cases = cases
            self.key = (group.map { "\($0)/" } ?? "") + moment.text
            self.isOpen = cases.contains { branch in
                branch.conditions.contains { if case .isSeen = $0.test { true } else { false } }
            }
        }
    }

    /// What follows when another machine comes to be seen like that.
    package struct Lookout: Hashable, Sendable {
        package let condition: LinkCondition
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
    /// What happens when something comes to be seen of other machines, in the file's order.
    package let lookouts: [Lookout]
    /// What has to be seen of others for the state to be entered.
    package let requirements: [LinkCondition]
    /// Its own, and behind them those of its groups.
    package let after: [Deadline]
    /// Where the first start in a new boot leads; nil if the state goes on.
    package let boot: [Branch]?
    package let run: Run?
    package let enter: [DeclaredCommand]
    package let leave: [DeclaredCommand]
    package let isFinal: Bool
    package let mark: StateMark?
    /// Whether what is left of its next time is given to a field somewhere.
    let asksForRemaining: Bool

    /// Whether more is known of one of its times than the file says.
    var hasKnownTimes: Bool {
        self.after.contains {
            if case .field = $0.moment { true } else { $0.group != nil }
        }
    }

    /// All commands: the run, then those of entering and leaving.
    package var commands: [DeclaredCommand] { self.keyedCommands.map(\.command) }

    /// The same, each with its key in the file.
    package var keyedCommands: [(key: String, command: DeclaredCommand)] {
        (self.run.map { [("run", $0.command)] } ?? []) + self.enter.map { ("enter", $0) }
            + self.leave.map { ("leave", $0) }
    }
}

extension StateDeclaration.Deadline.Moment {
    /// As the file has it, with times in one spelling.
    package var text: String {
        switch self {
        case .after(let delay): delay.timeText
        case .field(let name): "{\(name)}"
        }
    }
}

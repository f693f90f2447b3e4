/// One of the daemon's two sockets: same protocol, different rights.
public enum Door: String, CaseIterable, Codable, Sendable {
    /// Takes every operation and says nothing unasked.
    case control
    /// Takes the operations that change nothing; connecting starts a watch.
    case events

    /// The socket's name in the runtime directory.
    public var fileName: String { "\(self.rawValue).sock" }

    /// Whether connecting begins a watch.
    package var isWatchImplied: Bool {
        switch self {
        case .control: false
        case .events: true
        }
    }

    /// Whether that operation may be requested here.
    package func takes(_ operation: Operation) -> Bool {
        switch self {
        case .control: true
        case .events: operation.isReading
        }
    }

    /// What it takes, for a machine that has events or has none.
    package func operations(withEvents hasEvents: Bool) -> [Operation] {
        Operation.allCases.filter { self.takes($0) && (hasEvents || !$0.isOfEvents) }
    }

    /// The answer to `help`.
    package func help(withEvents hasEvents: Bool) -> String {
        let lines = self.operations(withEvents: hasEvents).map { operation in
            switch operation {
            case .get: "get                        the state"
            case .set: "set STATE [key=value …]    change it"
            case .send: "send EVENT [key=value …]   tell the machine of an event"
            case .update: "update key=value key+=1 …  change fields of the state and stay in it"
            case .watch: "watch [PATTERN …]          the state now, and every change"
            case .unwatch: "unwatch                    end the watch"
            case .wait: "wait PATTERN …             answer when a state matches"
            case .hold: "hold                       keep a state from being entered (an object)"
            case .release: "release N                  give back a hold or a guard"
            case .guard: "guard                      be asked before a state is entered (an object)"
            case .vote: "vote                       answer what was asked (an object)"
            case .history: "history                    the changes that are kept"
            case .reload:
                "reload                     read the settings and the machine's file again"
            case .stats: "stats                      who is connected, how far behind; counters"
            case .describe: "describe                   states, operations, errors, limits"
            case .ping: "ping                       the seq that all before it have reached"
            case .help: "help                       this"
            }
        }
        return """
            One request a line, as words or as a JSON object with "op"; answers are JSON lines.
            A PATTERN is STATE or STATE:key=value,key=value; one value may stand
            without its key. !PATTERN is every state but these.

            \(lines.joined(separator: "\n"))

            As objects they take more: set ifSeq ifState ifStay reenter cause; \(
                hasEvents ? "update add; " : "")watch since only mode everyMs
            beatMs; wait fail since timeoutMs; history since limit only
            order after before by cause. The states: describe.
            """
    }
}

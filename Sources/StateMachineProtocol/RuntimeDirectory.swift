import CPlatform

/// The directory of a daemon's two sockets.
public struct RuntimeDirectory: Hashable, Sendable, CustomStringConvertible {
    /// The directory of a system daemon.
    public static let system = RuntimeDirectory("/run/statemachine")

    /// The path, as it was given.
    public let path: String

    /// The directory of that path; nothing is looked up.
    public init(_ path: String) {
        self.path = path
    }

    /// The path.
    public var description: String { self.path }

    /// The same without slashes at the end of its path, as completion by a shell leaves one.
    package var withoutSlash: RuntimeDirectory {
        var path = Substring(self.path)
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        return RuntimeDirectory(String(path))
    }

    /// Where that door's socket is, or would be.
    public func socketPath(of door: Door) -> String { "\(self.path)/\(door.fileName)" }

    /// The first of `$RUNTIME_DIRECTORY`, which systemd sets to a colon-separated list if a unit
    /// has several.
    package static func ofService(_ environment: (String) -> String?) -> RuntimeDirectory? {
        environment("RUNTIME_DIRECTORY")?.split(separator: ":").first
            .map { RuntimeDirectory(String($0)) }
    }

    /// The directory given to a client in `$STATEMACHINE_RUNTIME_DIRECTORY`.
    ///
    /// Not what systemd sets: any unit may have a runtime directory, while its commands are clients
    /// of another daemon.
    package static func named(_ environment: (String) -> String?) -> RuntimeDirectory? {
        guard let path = environment(self.variable), !path.isEmpty else { return nil }
        return RuntimeDirectory(path)
    }

    /// The variable that names it to a client, and, as one of its settings, to the daemon.
    package static var variable: String { "STATEMACHINE_RUNTIME_DIRECTORY" }

    /// The directory of a user's own daemon: `$XDG_RUNTIME_DIR/statemachine`.
    package static func ofUser(_ environment: (String) -> String?) -> RuntimeDirectory? {
        guard let directory = environment("XDG_RUNTIME_DIR"), !directory.isEmpty else { return nil }
        return RuntimeDirectory("\(directory)/statemachine")
    }

    /// The default for a daemon, never a world-writable place; nil if the environment names none.
    package static func byDefault(
        environment: (String) -> String?,
        isRoot: Bool
    ) -> RuntimeDirectory? {
        self.ofService(environment) ?? (isRoot ? .system : self.ofUser(environment))
    }
}

/// The path of a Unix socket, for whoever listens there and whoever connects: one limit for both.
package enum SocketPath {
    /// Bytes of a path that fit into an address with the zero at its end: unix(7).
    package static let limit = 107

    /// A stream socket that does not block and is closed on exec; -1 with `errno` if there is none.
    package static func makeSocket() -> CInt { platform_stream_socket() }

    /// Binds a socket to a path; returns 0, or -1 with `errno`.
    package static func bind(_ descriptor: CInt, to path: String) -> CInt {
        platform_bind(descriptor, path)
    }

    /// Connects a socket to whoever listens at a path; returns 0, or -1 with `errno`.
    package static func connect(_ descriptor: CInt, to path: String) -> CInt {
        platform_connect(descriptor, path)
    }
}

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

    /// What it takes, for a machine that has events or has none, and that other hosts share or do not.
    package func operations(withEvents hasEvents: Bool, shared isShared: Bool) -> [Operation] {
        Operation.allCases.filter {
            self.takes($0) && (hasEvents || !$0.isOfEvents) && (isShared || !$0.isOfSharing)
        }
    }

    /// The answer to `help`.
    package func help(withEvents hasEvents: Bool, shared isShared: Bool) -> String {
        let operations = self.operations(withEvents: hasEvents, shared: isShared)
        let lines = operations.map { operation in
            switch operation {
            case .get: "get                        the state"
            case .set: "set STATE [key=value …]    change it"
            case .send: "send EVENT [key=value …]   send the machine an event"
            case .update: "update key=value key+=1 …  change fields of the state and stay in it"
            case .watch: "watch [PATTERN …]          the state now, and every change"
            case .unwatch: "unwatch                    end the watch"
            case .wait: "wait PATTERN …             answer when a state matches"
            case .hold: "hold                       keep a state from being entered (an object)"
            case .release: "release N                  give back a hold or a guard"
            case .guard: "guard                      be asked before a state is entered (an object)"
            case .vote: "vote                       answer a guard's question (an object)"
            case .history: "history                    the changes that are kept"
            case .reload:
                "reload                     read the settings and the machine's file again"
            case .stats: "stats                      who is connected, how far behind; counters"
            case .hosts: "hosts                      the hosts that share the machine"
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

import ArgumentParser
import ServiceLog
import StateMachineHistory
import StateMachineServer

extension Setting {
    /// What there is to know about a setting besides its name.
    struct Row {
        let kind: Kind
        let summary: String
        /// The value from the flags that every daemon has.
        let given: (DaemonFlags) -> SettingValue?
        /// Which limit it sets, if it sets one.
        var limit: WritableKeyPath<ServerLimits, Int>?
    }

    /// The table of settings: where each default, bound and description is found.
    ///
    /// The defaults of limits are the values of `ServerLimits`, those of a history of
    /// `HistoryOptions`.
    var row: Row {
        switch self {
        case .machine:
            Row(
                kind: .file(
                    default:
                        "machine.yaml, or NAME.machine.yaml for an instance, in /etc/statemachine or "
                        + "/usr/lib/statemachine, else the stock states"
                ),
                summary: "The file that declares the machine.",
                given: { _ in nil }
            )
        case .instance:
            Row(
                kind: .name,
                summary: "The name of the instance, if there are several daemons; see --machine.",
                given: { _ in nil }
            )
        case .engineEndpoints:
            .sharing(
                .list,
                "Where the members of etcd are, such as https://etcd-1.example:2379; without any the machine is this host's alone."
            )
        case .engineCA:
            .sharing(
                .credential,
                "The certificates by one of which those of etcd have to be signed."
            )
        case .engineCertificate:
            .sharing(
                .credential,
                "This host's certificate; its common name is a user of etcd."
            )
        case .engineKey: .sharing(.credential, "The key of that certificate.")
        case .engineMachine:
            .sharing(
                .key(
                    longest: 64,
                    default: "the instance, else the name that the machine's file has for it"
                ),
                "The name under which all hosts share the machine."
            )
        case .engineInsecure:
            .sharing(
                .yes,
                "Talk to etcd without encryption, also to other hosts."
            )
        case .host:
            .sharing(
                .key(longest: 253, default: "the host's name"),
                "The name of this host among those that share the machine."
            )
        case .sessionTTL:
            .sharing(
                .time(.seconds(5)...(.seconds(60)), default: .seconds(10)),
                "How long the others count on this host once it no longer answers."
            )
        case .checkInterval:
            .sharing(
                .time(Setting.shortestWait...(.seconds(60)), default: .seconds(1)),
                "How often to ask etcd whether the machine is where it is shown."
            )
        case .staleAfter:
            .sharing(
                .time(Setting.shortestWait...(.seconds(60)), default: .seconds(3)),
                "How long after the last answer what is shown counts as old, and nothing can be set."
            )
        case .callTimeout:
            .sharing(
                .time(Setting.shortestWait...(.seconds(60)), default: .seconds(1)),
                "How long etcd has to answer before another member is asked."
            )
        case .setTimeout:
            .sharing(
                .time(Setting.shortestWait...(.seconds(60)), default: .seconds(5)),
                "How long a set waits to know what has become of it."
            )
        case .runtimeDirectory:
            Row(
                kind: .directory(
                    default: "$RUNTIME_DIRECTORY where systemd sets it, else /run/statemachine for "
                        + "root, else $XDG_RUNTIME_DIR/statemachine"
                ),
                summary: "The directory for the sockets.",
                given: { $0.runtimeDirectory.map { .text($0) } }
            )
        case .logLevel:
            Row(
                kind: .choice(LogLevel.allCases.map(\.rawValue), default: LogLevel.info.rawValue),
                summary: "How much to log.",
                given: { $0.logLevel.map { .text($0.rawValue) } }
            )
        case .logTransitions:
            Row(
                kind: .count(0...Setting.most, default: ServerLimits().transitionsLoggedPerSecond),
                summary:
                    "Changes per second that are logged one by one; the others share one line.",
                given: { $0.logTransitions.map { .number($0) } },
                limit: \.transitionsLoggedPerSecond
            )
        case .stateDirectory:
            Row(
                kind: .directory(default: "$STATE_DIRECTORY where systemd sets it, else none"),
                summary: """
                    The directory for the history; without one the state is lost when the daemon ends.
                    """,
                given: { $0.history.stateDirectory.map { .text($0) } }
            )
        case .ephemeral:
            Row(
                kind: .yes,
                summary: "Keep no history, whatever else is set.",
                given: { $0.history.ephemeral ? .flag(true) : nil }
            )
        case .durability:
            Row(
                kind: .choice(
                    HistoryOptions.Durability.allCases.map(\.rawValue),
                    default: HistoryOptions().durability.rawValue
                ),
                summary: """
                    What an answered set survives: a crash of the daemon (commit), or a power cut too (disk).
                    """,
                given: { $0.history.durability.map { .text($0.rawValue) } }
            )
        case .keepChanges:
            Row(
                kind: .count(1...Setting.mostChanges, default: HistoryOptions().keepChanges),
                summary: "Changes kept in the history.",
                given: { $0.history.keepChanges.map { .number($0) } }
            )
        case .keepDays:
            Row(
                kind: .count(1...Setting.mostDays, default: HistoryOptions().keepDays),
                summary: "Days for which changes are kept.",
                given: { $0.history.keepDays.map { .number($0) } }
            )
        case .keepBytes:
            Row(
                kind: .count(
                    Setting.fewestHistoryBytes...Setting.mostHistoryBytes,
                    default: HistoryOptions().keepBytes
                ),
                summary: "Bytes that changes may take in the database.",
                given: { $0.history.keepBytes.map { .number($0) } }
            )
        case .maxConnections:
            .limit(\.connections, from: 1, \.maxConnections, "Connections at a time, of all users.")
        case .reservedConnections:
            .limit(
                \.connectionsInReserve,
                from: 0,
                \.reservedConnections,
                "Connections reserved for root and the daemon's own user."
            )
        case .controlConnections:
            .limit(
                \.connectionsForControl,
                from: 0,
                \.controlConnections,
                "Connections reserved for clients of control.sock."
            )
        case .maxConnectionsPerUid:
            .limit(
                \.connectionsPerUid,
                from: 0,
                \.maxConnectionsPerUid,
                "Connections at a time, of each other user."
            )
        case .acceptRate:
            .limit(
                \.acceptsPerSecond,
                from: 1,
                \.acceptRate,
                "Connections a second, of each other user; more have to wait."
            )
        case .acceptBurst:
            .limit(
                \.acceptBurst,
                from: 1,
                \.acceptBurst,
                "Connections that each other user may open at once."
            )
        case .maxWatches:
            .limit(\.watchesPerConnection, from: 1, \.maxWatches, "Watches per connection.")
        case .maxWaits:
            .limit(\.waitsPerConnection, from: 0, \.maxWaits, "Waits per connection.")
        case .maxHolds:
            .limit(\.holdsPerConnection, from: 0, \.maxHolds, "Holds per connection.")
        case .maxGuards:
            .limit(\.guardsPerConnection, from: 0, \.maxGuards, "Guards per connection.")
        case .maxReplies:
            .limit(
                \.repliesInFlight,
                from: 1,
                \.maxReplies,
                "Replies that a client may have pending; beyond that its requests are not read."
            )
        case .ringChanges:
            .limit(
                \.ringChanges,
                from: 1,
                \.ringChanges,
                "Changes kept in memory for readers that fall behind."
            )
        case .ringBytes:
            .limit(
                \.ringBytes,
                from: 4096,
                to: Setting.mostBytes,
                \.ringBytes,
                "Bytes of memory for those changes."
            )
        }
    }

    /// As many descriptors as Linux lets a process have (fs.nr_open); nothing that is counted here
    /// needs more.
    static let most = 1 << 20

    /// A billion; some 200 gigabytes.
    static let mostChanges = 1_000_000_000

    /// A hundred years.
    static let mostDays = 36_500

    /// Less than a mebibyte is soon filled by the tables alone.
    static let fewestHistoryBytes = 1 << 20
    static let mostHistoryBytes = 1 << 40

    /// 50 ms: less than that a healthy etcd may take.
    static let shortestWait = Duration.milliseconds(50)

    /// A gibibyte; the ring's memory is allotted at the start.
    static let mostBytes = 1 << 30
}

extension Setting.Kind {
    /// A file that a service is handed over by `LoadCredential=` under the setting's name.
    static let credential = Self.file(
        default: "the credential of that name that systemd hands over, else none"
    )
}

extension Setting.Row {
    /// A row for a setting that only statemachine-cluster has, and gives by itself.
    static func sharing(_ kind: Setting.Kind, _ summary: String) -> Self {
        Self(kind: kind, summary: summary, given: { _ in nil })
    }

    /// A row for a limit of the server, which knows the default.
    static func limit(
        _ limit: WritableKeyPath<ServerLimits, Int>,
        from least: Int,
        to most: Int = Setting.most,
        _ flag: KeyPath<LimitOptions, Int?>,
        _ summary: String
    ) -> Self {
        Self(
            kind: .count(least...most, default: ServerLimits()[keyPath: limit]),
            summary: summary,
            given: { $0.limits[keyPath: flag].map { .number($0) } },
            limit: limit
        )
    }
}

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
                        "machine.yaml, of an instance NAME.machine.yaml, in /etc/statemachine or "
                        + "/usr/lib/statemachine, else the stock states"
                ),
                summary: "The file that declares the machine.",
                given: { _ in nil }
            )
        case .instance:
            Row(
                kind: .name,
                summary: "Which of several daemons this is; see --machine.",
                given: { _ in nil }
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
                kind: .count(
                    0...Setting.most,
                    default: ServerLimits().transitionsLoggedPerSecond
                ),
                summary: "Changes of a second that are logged one by one; the rest is one line.",
                given: { $0.logTransitions.map { .number($0) } },
                limit: \.transitionsLoggedPerSecond
            )
        case .stateDirectory:
            Row(
                kind: .directory(default: "$STATE_DIRECTORY where systemd sets it, else none"),
                summary: """
                    The directory for the history; without one the state lives as long as the daemon.
                    """,
                given: { $0.history.stateDirectory.map { .text($0) } }
            )
        case .ephemeral:
            Row(
                kind: .yes,
                summary: "Keep nothing, whatever else is set.",
                given: { $0.history.ephemeral ? .flag(true) : nil }
            )
        case .durability:
            Row(
                kind: .choice(
                    HistoryOptions.Durability.allCases.map(\.rawValue),
                    default: HistoryOptions().durability.rawValue
                ),
                summary: """
                    What an answered set survives: disk, a power cut too; commit, the daemon's death alone.
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
                summary: "Days for which they are kept.",
                given: { $0.history.keepDays.map { .number($0) } }
            )
        case .keepBytes:
            Row(
                kind: .count(
                    Setting.fewestHistoryBytes...Setting.mostHistoryBytes,
                    default: HistoryOptions().keepBytes
                ),
                summary: "Bytes that they may take in the database.",
                given: { $0.history.keepBytes.map { .number($0) } }
            )
        case .maxConnections:
            .limit(\.connections, from: 1, \.maxConnections, "Connections at a time.")
        case .reservedConnections:
            .limit(
                \.connectionsInReserve,
                from: 0,
                \.reservedConnections,
                "How many of them only root and the daemon's own user may take."
            )
        case .controlConnections:
            .limit(
                \.connectionsForControl,
                from: 0,
                \.controlConnections,
                "How many of them only clients of control.sock may take."
            )
        case .maxConnectionsPerUid:
            .limit(
                \.connectionsPerUid,
                from: 0,
                \.maxConnectionsPerUid,
                "Connections at a time of any other user."
            )
        case .acceptRate:
            .limit(
                \.acceptsPerSecond,
                from: 1,
                \.acceptRate,
                "Connections a second of any other user; past it an accept waits."
            )
        case .acceptBurst:
            .limit(\.acceptBurst, from: 1, \.acceptBurst, "How many of them may come at once.")
        case .maxWatches:
            .limit(\.watchesPerConnection, from: 1, \.maxWatches, "Watches of a connection.")
        case .maxWaits:
            .limit(\.waitsPerConnection, from: 0, \.maxWaits, "Waits of a connection.")
        case .maxHolds:
            .limit(\.holdsPerConnection, from: 0, \.maxHolds, "Holds of a connection.")
        case .maxGuards:
            .limit(\.guardsPerConnection, from: 0, \.maxGuards, "Guards of a connection.")
        case .maxReplies:
            .limit(
                \.repliesInFlight,
                from: 1,
                \.maxReplies,
                "Replies that may wait for a client; past it the client is not read."
            )
        case .ringChanges:
            .limit(
                \.ringChanges,
                from: 1,
                \.ringChanges,
                "Changes kept for readers that fall behind."
            )
        case .ringBytes:
            .limit(
                \.ringBytes,
                from: 4096,
                to: Setting.mostBytes,
                \.ringBytes,
                "Bytes of encoded changes kept for them."
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

    /// A gibibyte; the ring's memory is allotted at the start.
    static let mostBytes = 1 << 30
}

extension Setting.Row {
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

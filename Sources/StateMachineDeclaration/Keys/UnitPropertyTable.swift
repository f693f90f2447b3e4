/// The unit properties that a command may be given: those of systemd 252 that limit what a command
/// uses and reaches, and that systemd accepts for a unit started over D-Bus.
///
/// They are named and written as in unit files; see systemd.resource-control(5) and
/// systemd.exec(5). What a command has keys for (``others``) is not a property here.
enum UnitPropertyTable {
    struct Property: Sendable {
        let name: String
        let kind: UnitPropertyKind
    }

    static let all: [Property] =
        Self.of(.weight(hasIdle: true), "CPUWeight", "StartupCPUWeight")
        + Self.of(.weight(hasIdle: false), "IOWeight", "StartupIOWeight")
        + Self.of(.quota, "CPUQuota") + Self.of(.time, "CPUQuotaPeriodSec")
        + Self.of(.bytes(least: 1), "MemoryHigh", "MemoryMax")
        + Self.of(.bytes(least: 0), "MemoryLow", "MemoryMin", "MemorySwapMax")
        + Self.of(.tasks, "TasksMax")
        + Self.of(
            .boolean,
            "CPUAccounting",
            "IOAccounting",
            "IPAccounting",
            "MemoryAccounting",
            "TasksAccounting",
            "Delegate"
        )
        + Self.of(.slice, "Slice")
        + Self.of(.word(["auto", "closed", "strict"]), "DevicePolicy")
        + Self.of(.word(["auto", "kill"]), "ManagedOOMMemoryPressure", "ManagedOOMSwap")
        + Self.of(.word(["none", "avoid", "omit"]), "ManagedOOMPreference")
        + Self.of(.word(["continue", "stop", "kill"]), "OOMPolicy")
        + Self.of(.integer(-1000...1000), "OOMScoreAdjust")
        + Self.of(.integer(-20...19), "Nice")
        + Self.of(
            .numbered(["other": 0, "fifo": 1, "rr": 2, "batch": 3, "idle": 5]),
            "CPUSchedulingPolicy"
        )
        + Self.of(.integer(1...99), "CPUSchedulingPriority")
        + Self.of(.boolean, "CPUSchedulingResetOnFork")
        + Self.of(
            .numbered(["none": 0, "realtime": 1, "best-effort": 2, "idle": 3]),
            "IOSchedulingClass"
        )
        + Self.of(.integer(0...7), "IOSchedulingPriority")
        + Self.of(
            .limit(isBytes: true),
            "LimitAS",
            "LimitCORE",
            "LimitDATA",
            "LimitFSIZE",
            "LimitMEMLOCK",
            "LimitMSGQUEUE",
            "LimitRSS",
            "LimitSTACK"
        )
        + Self.of(
            .limit(isBytes: false),
            "LimitLOCKS",
            "LimitNOFILE",
            "LimitNPROC",
            "LimitSIGPENDING"
        )
        + Self.of(
            .boolean,
            "DynamicUser",
            "IgnoreSIGPIPE",
            "LockPersonality",
            "MemoryDenyWriteExecute",
            "MountAPIVFS",
            "NoNewPrivileges",
            "PrivateDevices",
            "PrivateIPC",
            "PrivateMounts",
            "PrivateNetwork",
            "PrivateTmp",
            "PrivateUsers",
            "ProtectClock",
            "ProtectControlGroups",
            "ProtectHostname",
            "ProtectKernelLogs",
            "ProtectKernelModules",
            "ProtectKernelTunables",
            "RemoveIPC",
            "RestrictRealtime",
            "RestrictSUIDSGID"
        )
        + Self.of(.wordOrBoolean(["read-only", "tmpfs"]), "ProtectHome")
        + Self.of(.wordOrBoolean(["full", "strict"]), "ProtectSystem")
        + Self.of(.word(["default", "invisible", "noaccess", "ptraceable"]), "ProtectProc")
        + Self.of(.word(["all", "pid"]), "ProcSubset")
        + Self.of(.word(["inherit", "private", "shared"]), "KeyringMode")
        + Self.of(
            .paths,
            "ExecPaths",
            "InaccessiblePaths",
            "NoExecPaths",
            "ReadOnlyPaths",
            "ReadWritePaths"
        )
        + Self.of(.path, "IPCNamespacePath", "NetworkNamespacePath", "RootDirectory")
        + Self.of(
            .directories,
            "CacheDirectory",
            "ConfigurationDirectory",
            "LogsDirectory",
            "StateDirectory"
        )
        + Self.of(.names, "SupplementaryGroups", "SystemCallArchitectures")
        + Self.of(.filter(prefix: ""), "SystemCallFilter")
        + Self.of(.filter(prefix: "AF_"), "RestrictAddressFamilies")
        + Self.of(.namespaces, "RestrictNamespaces")
        + Self.of(.capabilities, "AmbientCapabilities", "CapabilityBoundingSet")
        + Self.of(.mode, "UMask")

    static let names = Self.all.map(\.name)

    private static let kinds = Dictionary(
        Self.all.map { ($0.name, $0.kind) },
        uniquingKeysWith: { first, _ in first }
    )

    static func kind(of name: String) -> UnitPropertyKind? { Self.kinds[name] }

    /// The keys of a command that replace properties, by the properties' names in unit files.
    static let others = [
        "ExecStart": "command", "User": "user", "Group": "group", "RuntimeMaxSec": "timeout",
        "TimeoutStopSec": "stop", "TimeoutSec": "stop", "Restart": "retry",
        "RestartSec": "retry", "WorkingDirectory": "directory", "Environment": "environment",
        "EnvironmentFile": "environment-file",
    ]

    private static func of(_ kind: UnitPropertyKind, _ names: String...) -> [Property] {
        names.map { Property(name: $0, kind: kind) }
    }
}

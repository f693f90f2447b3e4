/// The kind of value that a unit's property has.
enum UnitPropertyKind: Hashable, Sendable {
    case boolean
    /// One of these.
    case word([String])
    /// One of these, or a boolean.
    case wordOrBoolean([String])
    /// One of these words, each of which D-Bus has a number for.
    case numbered([String: Int32])
    case integer(ClosedRange<Int32>)
    /// A size of memory, a share of all memory, or no limit.
    case bytes(least: UInt64)
    /// A number of tasks, a share of what the machine has, or no limit.
    case tasks
    /// A resource limit of the kernel: one value, or a soft and a hard one.
    case limit(isBytes: Bool)
    case weight(hasIdle: Bool)
    /// A share of one processor's time.
    case quota
    case time
    /// Octal digits.
    case mode
    case path
    /// Paths, each perhaps with `-` or `+` before it.
    case paths
    /// Directories below the base directory of their kind.
    case directories
    case names
    /// Names with that prefix: allowed ones, or, with `~` before the first, denied ones.
    case filter(prefix: String)
    case namespaces
    case capabilities
    case slice

    /// Whether more than one may be written.
    var isList: Bool {
        switch self {
        case .paths, .directories, .names, .filter, .namespaces, .capabilities: true
        case .boolean, .word, .wordOrBoolean, .numbered, .integer, .bytes, .tasks, .limit, .weight,
            .quota, .time, .mode, .path, .slice:
            false
        }
    }

    /// Whether words that are booleans in YAML 1.1 are booleans here too.
    var hasBooleans: Bool {
        switch self {
        case .boolean, .wordOrBoolean, .namespaces: true
        case .word, .numbered, .integer, .bytes, .tasks, .limit, .weight, .quota, .time, .mode,
            .path, .paths, .directories, .names, .filter, .capabilities, .slice:
            false
        }
    }

    /// What to write, to go after "write".
    var expected: String {
        switch self {
        case .boolean: return "true or false"
        case .word(let words): return words.joined(separator: ", ")
        case .wordOrBoolean(let words):
            return (["true", "false"] + words).joined(separator: ", ")
        case .numbered(let numbers):
            return numbers.sorted { $0.value < $1.value }.map(\.key).joined(separator: ", ")
        case .integer(let range):
            return "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .bytes: return "bytes, as 200M, a share, as 50%, or infinity"
        case .tasks: return "a number, a share, as 10%, or infinity"
        case .limit(isBytes: true): return "bytes, as 200M, or infinity, or two of them as 1M:2M"
        case .limit(isBytes: false): return "a number, or infinity, or two of them as 1024:4096"
        case .weight(let hasIdle): return "a number from 1 to 10000" + (hasIdle ? ", or idle" : "")
        case .quota: return "a share of one processor, as 20% or 150%"
        case .time: return "a time from 10ms to 1s"
        case .mode: return "octal digits, as 027"
        case .path: return "a path that begins with /"
        case .paths: return "paths that begin with /, or with -/ for one that need not be there"
        case .directories:
            return "names, as worker/cache, that begin with no / and go nowhere with .."
        case .names: return "names"
        case .filter(prefix: ""):
            return "names of system calls and @groups of them, perhaps with ~ before the first"
        case .filter(let prefix):
            return "names that begin with \(prefix), perhaps with ~ before the first"
        case .namespaces:
            return
                "true, false, or some of \(Self.namespaceFlags.keys.sorted().joined(separator: ", ")), "
                + "perhaps with ~ before the first"
        case .capabilities: return "names like CAP_NET_ADMIN, perhaps with ~ before the first"
        case .slice: return "the name of a slice, as worker.slice"
        }
    }

    /// The kernel's namespace flags by systemd's names (clone(2)).
    static let namespaceFlags: [String: UInt64] = [
        "cgroup": 0x0200_0000, "ipc": 0x0800_0000, "mnt": 0x0002_0000, "net": 0x4000_0000,
        "pid": 0x2000_0000, "user": 0x1000_0000, "uts": 0x0400_0000,
    ]

    /// The kernel's capabilities in the order of their numbers (linux/capability.h).
    static let capabilityNames = [
        "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID",
        "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_LINUX_IMMUTABLE",
        "CAP_NET_BIND_SERVICE", "CAP_NET_BROADCAST", "CAP_NET_ADMIN", "CAP_NET_RAW",
        "CAP_IPC_LOCK", "CAP_IPC_OWNER", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT",
        "CAP_SYS_PTRACE", "CAP_SYS_PACCT", "CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE",
        "CAP_SYS_RESOURCE", "CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE",
        "CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL", "CAP_SETFCAP", "CAP_MAC_OVERRIDE",
        "CAP_MAC_ADMIN", "CAP_SYSLOG", "CAP_WAKE_ALARM", "CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ",
        "CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE",
    ]
}

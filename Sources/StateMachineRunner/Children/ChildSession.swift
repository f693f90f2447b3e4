import Glibc
import Processes
import StateMachineCore
import SystemPackage

/// The processes of one command: those in the session that its leader began.
struct ChildSession: Hashable, Sendable {
    /// How often to check whether any processes are left.
    ///
    /// 20 ms: out of the 100 within which a state follows the end of a command.
    private static let interval = Duration.milliseconds(20)

    /// 0 as long as there is no leader.
    let leader: pid_t
    /// When the leader began, in the kernel's ticks since the machine's start; 0 if it had ended already.
    let start: UInt64
    /// In `$INVOCATION_ID` of all processes that keep it: a process number may be reused.
    let token: String
    /// From SIGTERM to SIGKILL.
    let grace: Duration

    /// A session that was begun, or is to be.
    init(leader: pid_t = 0, start: UInt64 = 0, token: String = newToken(), grace: Duration) {
        self.leader = leader
        self.start = start
        self.token = token
        self.grace = grace
    }

    /// The same session once its leader has begun.
    func led(by leader: pid_t) -> ChildSession {
        let start = ProcessEntry(leader)?.start ?? 0
        return ChildSession(leader: leader, start: start, token: self.token, grace: self.grace)
    }

    /// A new token in systemd's form: 32 hexadecimal digits.
    static func newToken() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        .joined()
    }

    /// Whether the leader has ended, though perhaps nobody has waited for it yet.
    var hasLeaderEnded: Bool {
        guard let leader = self.leaderEntry else { return true }
        return leader.isDead
    }

    /// Ends all of them, by SIGTERM and after that time by SIGKILL; returns when none is left.
    func end(after grace: Duration) async { await self.end(after: grace, among: self.members) }

    /// The same for processes of a runner that is gone, when perhaps not even the leader is known.
    func endLeftovers() async { await self.end(after: self.grace, among: self.leftovers) }

    private func end(
        after grace: Duration,
        among processes: (Set<ProcessEntry>) -> [ProcessEntry]
    ) async {
        var known: Set<ProcessEntry> = []
        var isTold: Set<ProcessEntry> = []
        let clock = QuietClock()
        let deadline = clock.now.advanced(by: grace)
        while true {
            let members = processes(known)
            guard !members.isEmpty else { return }
            known.formUnion(members)
            let isLate = clock.now >= deadline
            for process in members where isLate || isTold.insert(process).inserted {
                kill(process.pid, isLate ? SIGKILL : SIGTERM)
                // A stopped process would not act on it.
                kill(process.pid, SIGCONT)
            }
            do {
                try await clock.sleep(for: Self.interval)
            } catch {
                // Nobody waits for it any more; what is left is killed.
                for process in processes(known) { kill(process.pid, SIGKILL) }
                return
            }
        }
    }

    private var leaderEntry: ProcessEntry? {
        ProcessEntry(self.leader).flatMap { $0.start == self.start ? $0 : nil }
    }

    /// The processes that are alive.
    ///
    /// While the leader exists, the session's number is its own; afterwards another session may
    /// have it.
    private func members(knowing known: Set<ProcessEntry>) -> [ProcessEntry] {
        let isOurs = self.leaderEntry != nil
        return ProcessEntry.all().filter { process in
            guard process.session == self.leader, !process.isDead else { return false }
            return isOurs || known.contains(process) || process.has("INVOCATION_ID", self.token)
        }
    }

    /// The leader, the processes with the token, and everything in their sessions.
    private func leftovers(knowing known: Set<ProcessEntry>) -> [ProcessEntry] {
        let all = ProcessEntry.all().filter { !$0.isDead && $0.pid != getpid() }
        let leader = self.leaderEntry
        let own = all.filter {
            $0 == leader || known.contains($0) || $0.has("INVOCATION_ID", self.token)
        }
        // A process that was given no session of its own would be in this process's.
        let sessions = Set(own.map(\.session)).subtracting([getsid(0)])
        return all.filter { own.contains($0) || sessions.contains($0.session) }
    }
}

/// A process as `/proc` shows it.
struct ProcessEntry: Hashable, Sendable {
    let pid: pid_t
    let session: pid_t
    let start: UInt64
    /// Whether it has ended and has not been waited for.
    let isDead: Bool

    static func == (left: ProcessEntry, right: ProcessEntry) -> Bool {
        left.pid == right.pid && left.start == right.start
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(self.pid)
        hasher.combine(self.start)
    }

    /// The process of that number; nil if there is none.
    init?(_ pid: pid_t) {
        guard let text = Self.text(of: "/proc/\(pid)/stat") else { return nil }
        // The name stands in parentheses and may contain anything.
        guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
            .map { String(decoding: $0, as: UTF8.self) }
        // From the third of proc(5) on: state, ppid, pgrp, session, …, starttime.
        guard fields.count > 19, let session = pid_t(fields[3]), let start = UInt64(fields[19])
        else { return nil }
        self.pid = pid
        self.session = session
        self.start = start
        self.isDead = fields[0] == "Z" || fields[0] == "X"
    }

    /// All processes that can be seen.
    static func all() -> [ProcessEntry] {
        FilePath("/proc").names.compactMap { pid_t($0).flatMap { ProcessEntry($0) } }
    }

    /// Whether it was started with that variable, as far as this process may look.
    func has(_ variable: String, _ value: String) -> Bool {
        let wanted = Array("\(variable)=\(value)".utf8)
        return Self.text(of: "/proc/\(self.pid)/environ")?
            .split(separator: 0).contains { $0.elementsEqual(wanted) } ?? false
    }

    private static func text(of path: String) -> [UInt8]? {
        // It may have ended just now, or belong to somebody else.
        FileDescriptor.whole(path, atMost: WholeFile.limit)
    }
}

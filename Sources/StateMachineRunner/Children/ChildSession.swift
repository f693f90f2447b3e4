import Glibc
import Processes
import StateMachineCore

/// The processes of one command: those in the session that its leader began.
struct ChildSession: Hashable, Sendable {
    /// How often to check whether any processes are left.
    ///
    /// 20 ms: out of the 100 within which a state follows the end of a command.
    private static let interval = Duration.milliseconds(20)

    /// 0 as long as there is no leader.
    var leader: pid_t = 0
    /// When the leader began, in the kernel's ticks since the machine's start; 0 if it had ended already.
    var start: UInt64 = 0
    /// In `$INVOCATION_ID` of all processes that keep it: a process number may be reused.
    var token = newToken()
    /// From SIGTERM to SIGKILL.
    let grace: Duration

    /// The same session once its leader has begun.
    func led(by leader: pid_t) -> ChildSession {
        let start = ProcessEntry(leader)?.start ?? 0
        return ChildSession(leader: leader, start: start, token: self.token, grace: self.grace)
    }

    /// A new token in systemd's form: 32 hexadecimal digits.
    static func newToken() -> String {
        (0..<2).map { _ in UInt64.random(in: 0...UInt64.max).digits(16, radix: 16) }.joined()
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

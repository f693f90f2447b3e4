import Glibc
import Processes
import StateMachineCore

/// The processes of one command: those in the session that its leader began.
struct ChildSession: Hashable, Sendable {
    /// How often to check at least and at most whether any processes are left.
    ///
    /// 20 ms: out of the 100 within which a state follows the end of a command. 500 ms: to look through all processes
    /// takes some of them.
    private static let intervals = Duration.milliseconds(20)...Duration.milliseconds(500)

    /// Which part of the time that it has taken so far passes until the next check.
    private static let share = 16

    /// How long to wait after SIGKILL at least.
    ///
    /// 5 s: what can be killed goes sooner, however busy the machine is.
    private static let leastPatience = Duration.seconds(5)

    /// What could not be killed.
    struct Survivor {
        let process: ProcessEntry
        let why: String
    }

    /// The name of the command.
    let command: String

    /// 0 as long as there is no leader.
    var leader: pid_t = 0
    /// When the leader began, in the kernel's ticks since the machine's start; 0 if it had ended already.
    var start: UInt64 = 0
    /// In `$INVOCATION_ID` of all processes that keep it: a process number may be reused.
    var token = newToken()
    /// From SIGTERM to SIGKILL.
    let grace: Duration
    /// Whether it could not be killed when that was tried last.
    var isGivenUp = false

    /// The same session once its leader has begun.
    func led(by leader: pid_t) -> ChildSession {
        var session = self
        session.leader = leader
        session.start = ProcessEntry(leader)?.start ?? 0
        return session
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

    /// Ends all of them, by SIGTERM and after that time by SIGKILL; returns when none is left, or one that has not gone
    /// for as long again as ``grace``.
    func end(after grace: Duration) async -> Survivor? {
        await self.end(after: grace, among: self.members)
    }

    /// The same for processes of a runner that is gone, when perhaps not even the leader is known.
    func endLeftovers() async -> Survivor? {
        await self.end(after: self.isGivenUp ? .zero : self.grace, among: self.leftovers)
    }

    private func end(
        after grace: Duration,
        among processes: (Set<ProcessEntry>) -> [ProcessEntry]
    ) async -> Survivor? {
        var known: Set<ProcessEntry> = []
        var isTold: Set<ProcessEntry> = []
        let clock = QuietClock()
        let began = clock.now
        let deadline = began.advanced(by: grace)
        let patience = self.isGivenUp ? .zero : max(self.grace, Self.leastPatience)
        while true {
            let members = processes(known)
            guard let first = members.first else { return nil }
            known.formUnion(members)
            let now = clock.now
            var refusal: Survivor?
            for process in members where now >= deadline || isTold.insert(process).inserted {
                if kill(process.pid, now >= deadline ? SIGKILL : SIGTERM) != 0, errno != ESRCH {
                    let why = String(cString: strerror(errno))
                    refusal = refusal ?? Survivor(process: process, why: why)
                }
                // A stopped process would not act on it.
                kill(process.pid, SIGCONT)
            }
            if now >= deadline.advanced(by: patience) {
                return refusal ?? Survivor(process: first, why: "it is still there after SIGKILL")
            }
            do {
                let pause = began.duration(to: now) / Self.share
                let (least, most) = (Self.intervals.lowerBound, Self.intervals.upperBound)
                try await clock.sleep(for: min(max(pause, least), most))
            } catch {
                // Nobody waits for it any more; what is left is killed.
                for process in processes(known) { kill(process.pid, SIGKILL) }
                return nil
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

import Glibc
import Processes
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import SystemPackage

/// The file beside the daemon's doors that tells `statectl status` what runs.
///
/// Everybody may read it. Its directory may belong to the daemon's user, who is not trusted with
/// it: no link is followed.
struct RunnerReport {
    private let file: WholeFile
    private let machine: MachineLabel
    private let began = WallTime.now

    init(_ configuration: RunnerConfiguration) {
        self.file = WholeFile("runner.json", in: configuration.directory.path)
        self.machine = configuration.label
    }

    /// Writes the report.
    ///
    /// - Parameters:
    ///   - record: how far the machine's commands have come.
    ///   - tally: what has been run.
    ///   - now: the present moment.
    ///   - present: the command that has been begun, which the record may be ahead of.
    ///   - blocked: why nothing is begun.
    ///   - left: what could not be killed.
    /// - Returns: what is wrong if that fails; nil if it does not.
    func write(
        _ record: Record,
        _ tally: CommandCounts,
        at now: StayMoment,
        present: CommandName?,
        blocked: String?,
        left: [LeftCommand]
    ) -> String? {
        do throws(Errno) {
            try self.file.write(
                "\(self.json(record, tally, now, present, blocked, left))\n",
                mode: 0o644,
                isDurable: false
            )
            return nil
        } catch .noSuchFileOrDirectory {
            // There is no daemon yet; it is written when there is one.
            return nil
        } catch {
            return "cannot write \(self.file.path): \(error)"
        }
    }

    /// Removes the report, unless it is another runner's: one that keeps this process out, or came after it.
    func remove() {
        do {
            guard try self.file.json()?["pid"]?.integer == Int64(getpid()) else { return }
            try self.file.remove()
        } catch {
            // The process that it names is gone, which says the same.
        }
    }

    private func json(
        _ record: Record,
        _ tally: CommandCounts,
        _ now: StayMoment,
        _ present: CommandName?,
        _ blocked: String?,
        _ left: [LeftCommand]
    ) -> JSONValue {
        .members([
            ("pid", .integer(getpid())),
            // Tells whether the process with this number is still the same one.
            ("start", .integer(ProcessEntry(getpid())?.start ?? 0)),
            ("machine", .string(self.machine.machine)),
            ("began", .string(self.began.rfc3339)),
            // The oldest change whose hooks have not all been run: later changes wait for it.
            ("hooks", record.hooks?.change.line.seq.map { .integer($0) }),
            ("blocked", blocked.map { .string($0) }),
            ("running", record.running(present)),
            ("next", record.next(at: now)),
            ("lastFailure", tally.lastFailure),
            ("left", left.isEmpty ? nil : .array(left.map(\.json))),
            ("commands", .array(tally.counts.sorted { $0.key.text < $1.key.text }.map(Self.row))),
        ])
    }

    private static func row(_ key: CommandCounts.Key, _ count: CommandCounts.Count) -> JSONValue {
        .members([
            ("state", .string(key.state)), ("key", .string(key.key.description)),
            ("runs", .integer(count.runs)), ("failures", .integer(count.failures)),
            ("seconds", .number(count.time.seconds)),
        ])
    }
}

extension Record {
    /// The command that runs: the one that is due, if it is `present`.
    fileprivate func running(_ present: CommandName?) -> JSONValue? {
        guard let name = self.begun, name == present, let work = self.hooks?.work ?? self.run
        else { return nil }
        return name.json(
            work.progress,
            "since",
            work.since?.wall,
            [("uptime", work.since?.uptime.map { .integer($0) })]
        )
    }

    /// The command that is tried again, and when.
    fileprivate func next(at now: StayMoment) -> JSONValue? {
        guard let work = self.hooks?.work ?? self.run, case .pausing(let pause) = work.phase,
            let name = work.name
        else { return nil }
        let left = pause.left(at: now)
        return name.json(
            work.progress,
            "at",
            now.wall + left,
            [("uptime", .integer(now.uptime + left.wholeMicroseconds))]
        )
    }
}

extension LeftCommand {
    fileprivate var json: JSONValue {
        .members([
            ("command", .string(self.command)), ("why", .string(self.why)),
            ("pid", self.process.map { .integer($0.pid) }),
            ("start", self.process.map { .integer($0.start) }),
        ])
    }
}

extension CommandName {
    /// `uptime`, if it is there, is that time in the microseconds of the kernel's, which nobody sets.
    fileprivate func json(
        _ progress: RunProgress,
        _ key: String,
        _ time: WallTime?,
        _ others: [(String, JSONValue?)]
    ) -> JSONValue {
        let row = progress.interruptions
        return self.json(
            attempt: progress.attempt,
            key,
            time,
            [("interruptions", row > 0 ? .integer(row) : nil)] + others
        )
    }

    fileprivate func json(
        attempt: Int,
        _ key: String,
        _ time: WallTime?,
        _ others: [(String, JSONValue?)] = []
    ) -> JSONValue {
        .members(
            [
                ("state", .string(self.state)), ("key", .string(self.key.description)),
                ("stay", .integer(self.seq)), ("attempt", .integer(attempt)),
                (key, time.map { .string($0.rfc3339) }),
            ] + others
        )
    }
}

/// What has been run since this process began.
struct CommandCounts {
    /// One command of the file.
    struct Key: Hashable {
        let state: String
        let key: CommandName.Key

        var text: (String, String) { (self.state, self.key.description) }
    }

    struct Count {
        var runs = 0
        var failures = 0
        /// How long those that have ended took in all.
        var time = Duration.zero
    }

    private(set) var counts: [Key: Count] = [:]
    /// The last command that ended in a way that the file does not provide for.
    private(set) var lastFailure: JSONValue?

    mutating func note(_ notice: Notice, at now: WallTime) {
        switch notice {
        case .begun(let name, _): self.counts[Key(name), default: Count()].runs += 1
        case .ended(let name, let end, let attempt, let isFailure):
            self.counts[Key(name), default: Count()].time += end.duration
            guard isFailure else { return }
            self.counts[Key(name), default: Count()].failures += 1
            let kind = JSONValue.string(end.kind.text)
            self.lastFailure = name.json(attempt: attempt, "at", now, [("end", kind)])
        case .interruptions(let name, let count, let attempt, let isFailure):
            guard isFailure else { return }
            self.counts[Key(name), default: Count()].failures += 1
            let others: [(String, JSONValue?)] = [
                ("interruptions", .integer(count)), ("end", "interrupted"),
            ]
            self.lastFailure = name.json(attempt: attempt, "at", now, others)
        case .triedAgain, .interrupted, .vanished, .trouble, .unhandled, .refused, .untold,
            .hooksUnknown, .stateUnknown, .differs, .agrees, .nothingToRun:
            break
        }
    }
}

extension CommandCounts.Key {
    fileprivate init(_ name: CommandName) { self.init(state: name.state, key: name.key) }
}

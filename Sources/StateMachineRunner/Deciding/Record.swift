package import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// How far a machine's commands have come, which must survive this process, whatever ends it.
///
/// What is under way in this process alone is in `Activity`.
package struct Record: Hashable, Sendable {
    /// The boot of the machine that it was written in.
    package private(set) var boot: String
    /// The cursor of the last change for which everything is done.
    package private(set) var cursor: String?
    /// The stay that was entered last.
    package private(set) var stay: EnteredStay?
    /// The hooks between two stays; nil within a stay.
    package internal(set) var hooks: HookWork?
    /// The run of the stay; nil between two stays, and before the stay is looked at.
    package internal(set) var run: RunWork?

    /// The record of a machine that no process has run before.
    init(boot: String) { self.boot = boot }

    /// The same in a process that goes on from there; `outlives`: commands outlive the process.
    func restored(among known: Set<CommandName>, boot: String, outlives: Bool) -> Record {
        var record = self
        record.boot = boot
        record.hooks?.work.restored(among: known, outlived: true)
        record.run?.restored(among: known, outlived: outlives && self.boot == boot)
        return record
    }

    /// Where the watch goes on; nil to begin with the state as it is.
    package var since: String? { self.hooks?.change.cursor ?? self.cursor }

    /// The cursor with which the stay began; nil between two stays.
    var stayBeginning: String? { self.hooks == nil ? self.stay?.line.cursor : nil }

    /// The command that was begun and has not ended, as far as is known.
    var begun: CommandName? {
        if let hooks { return hooks.name }
        return self.run?.phase == .running ? self.run?.name : nil
    }

    /// The attempt of the next hook, or of the run.
    var attempt: Int { (self.hooks?.work ?? self.run)?.progress.attempt ?? 1 }

    func knows(_ name: CommandName) -> Bool { name == self.hooks?.name || name == self.run?.name }

    /// The stay goes on; its state may have changed.
    mutating func updated(by change: Change) {
        self.stay?.state = change.state
        self.cursor = change.cursor
    }

    /// The stay goes on in the state that the line has, unless it is being left.
    mutating func found(_ line: Line) {
        guard self.hooks == nil, self.stay != nil, let state = line.state else { return }
        self.stay?.state = state
        self.cursor = line.cursor ?? self.cursor
    }

    /// The stay is left, and its run was dropped: the hooks of the change are next.
    mutating func left(by change: Change) {
        let left = change.from ?? self.stay?.state
        self.hooks = HookWork(change: change, left: left, leftStay: self.stay?.number)
    }

    /// The hooks of the change are done: the new stay is entered.
    mutating func entered(by change: Change) {
        self.cursor = change.cursor
        self.stay = EnteredStay(number: change.stay, state: change.state, line: change.line)
        self.hooks = nil
    }

    /// The command was stopped by this process: a hook is begun again, a run was interrupted.
    mutating func stopped() {
        self.hooks?.work.lost()
        self.run?.ended(.interrupted)
    }

    /// The command is not there: it is begun again.
    mutating func lost() {
        self.hooks?.work.lost()
        self.run?.lost()
    }

    /// The start of the command failed, which does not say whether it runs.
    mutating func doubted() {
        self.hooks?.work.doubted()
        self.run?.doubted()
    }

    /// The time of a pause has come.
    mutating func woke() {
        self.hooks?.work.woke()
        self.run?.woke()
    }

    /// Nothing is run in this stay any more; returns what the host may forget, as `RunWork.release` does.
    mutating func dropRun() -> CommandName? {
        defer { self.run = nil }
        return self.run?.release()
    }
}

// As JSON, on one line.
extension Record {
    /// The number of the format below; no other is read.
    private static let format = 1

    /// The record of a machine, as its file has it.
    package func json(of label: MachineLabel) -> JSONValue {
        .members([
            ("format", .integer(Self.format)),
            ("machine", .string(label.description)),
            ("boot", .string(self.boot)),
            ("cursor", self.cursor.map { .string($0) }),
            ("stay", self.stay?.json),
            ("hooks", self.hooks?.json),
            ("run", self.run?.json),
        ])
    }

    /// Reads what is in the file of that machine; nil if it is something else.
    package init?(_ json: JSONValue, of label: MachineLabel) {
        guard json["format"]?.integer == Int64(Self.format),
            json["machine"]?.string == label.description, let boot = json["boot"]?.string
        else { return nil }
        self.boot = boot
        self.cursor = json["cursor"]?.string
        self.stay = json["stay"].flatMap(EnteredStay.init)
        self.hooks = json["hooks"].flatMap { HookWork($0, of: label) }
        self.run = json["run"].flatMap { RunWork($0, of: label) }
    }
}

extension EnteredStay {
    fileprivate var json: JSONValue {
        .members([
            ("number", .integer(self.number)), ("state", self.state.json),
            ("line", .string(self.line.text)),
        ])
    }

    fileprivate init?(_ json: JSONValue) {
        guard let number = json["number"]?.unsigned,
            let state = json["state"].flatMap(NamedState.of),
            let line = json["line"]?.string.flatMap({ Line(Array($0.utf8)) })
        else { return nil }
        self.init(number: number, state: state, line: line)
    }
}

extension HookWork {
    fileprivate var json: JSONValue {
        let until: WallTime? = if case .pausing(let until) = self.work.phase { until } else { nil }
        return .members([
            ("line", .string(self.change.line.text)),
            ("left", self.left?.json),
            ("leftStay", self.leftStay.map { .integer($0) }),
            ("last", self.last.map { .string($0.description) }),
            ("attempt", .integer(self.work.progress.attempt)),
            ("interruptions", .integer(self.work.progress.interruptions)),
            ("running", self.name?.json),
            ("until", until.map { .string($0.rfc3339) }),
            ("since", self.work.since.map { .string($0.rfc3339) }),
        ])
    }

    fileprivate init?(_ json: JSONValue, of label: MachineLabel) {
        guard let line = json["line"]?.string.flatMap({ Line(Array($0.utf8)) }),
            let change = Change(line)
        else { return nil }
        self.init(
            change: change,
            left: json["left"].flatMap(NamedState.of),
            leftStay: json["leftStay"]?.unsigned
        )
        self.last = json["last"]?.string.flatMap(CommandName.Key.init)
        self.work.progress = RunProgress(json)
        self.work.since = json["since"]?.time
        if let name = json["running"].flatMap({ CommandName($0, of: label) }) {
            (self.work.phase, self.work.name) = (.running, name)
        } else if let until = json["until"]?.time {
            self.work.phase = .pausing(until: until)
        }
    }
}

extension RunWork {
    fileprivate var json: JSONValue {
        var until: WallTime?
        var end: RunEnd?
        let phase: String
        switch self.phase {
        case .due: phase = "due"
        case .running: phase = "running"
        case .ended(let how): (phase, end) = ("ended", how)
        case .pausing(let time): (phase, until) = ("pausing", time)
        case .telling(let how): (phase, end) = ("telling", how)
        case .over: phase = "over"
        }
        return .members([
            ("name", self.name?.json),
            ("phase", .string(phase)),
            ("attempt", .integer(self.progress.attempt)),
            ("interruptions", .integer(self.progress.interruptions)),
            ("since", self.since.map { .string($0.rfc3339) }),
            ("until", until.map { .string($0.rfc3339) }),
            ("end", end?.data),
        ])
    }

    fileprivate init?(_ json: JSONValue, of label: MachineLabel) {
        self.init()
        let end = json["end"]?.members.flatMap(Self.end)
        switch (json["phase"]?.string, end, json["until"]?.time) {
        case ("due", _, _): self.phase = .due
        case ("running", _, _): self.phase = .running
        case ("ended", let end?, _): self.phase = .ended(end)
        case ("pausing", _, let until?): self.phase = .pausing(until: until)
        case ("telling", let end?, _): self.phase = .telling(end)
        case ("over", _, _): self.phase = .over
        default: return nil
        }
        self.name = json["name"].flatMap { CommandName($0, of: label) }
        self.since = json["since"]?.time
        self.progress = RunProgress(json)
    }

    private static func end(_ members: [JSONMember]) -> RunEnd? {
        do {
            return try RunEnd(members)
        } catch {
            // Not a run's end that this version knows.
            return nil
        }
    }
}

extension RunProgress {
    fileprivate init(_ json: JSONValue) {
        self.init(
            attempt: json["attempt"]?.count ?? 1,
            interruptions: json["interruptions"]?.count ?? 0
        )
    }
}

extension CommandName {
    fileprivate var json: JSONValue {
        .members([
            ("state", .string(self.state)), ("key", .string(self.key.description)),
            ("seq", .integer(self.seq)),
        ])
    }

    fileprivate init?(_ json: JSONValue, of label: MachineLabel) {
        guard let state = json["state"]?.string, let seq = json["seq"]?.unsigned,
            let key = json["key"]?.string.flatMap(Key.init)
        else { return nil }
        self.init(label, state: state, key, seq: seq)
    }
}

extension NamedState {
    fileprivate var json: JSONValue {
        .members([("state", .string(self.name)), ("data", .object(self.data))])
    }

    fileprivate static func of(_ json: JSONValue) -> NamedState? {
        json["state"]?.string.map { NamedState($0, json["data"]?.members ?? []) }
    }
}

extension JSONValue {
    /// An object of the members that have a value.
    static func members(_ members: [(String, JSONValue?)]) -> JSONValue {
        .object(members.compactMap { key, value in value.map { JSONMember(key, $0) } })
    }

    fileprivate var unsigned: UInt64? { self.integer.flatMap { UInt64(exactly: $0) } }
    fileprivate var count: Int? { self.integer.flatMap { Int(exactly: $0) } }
    fileprivate var time: WallTime? { self.string.flatMap { WallTime(rfc3339: $0) } }
}

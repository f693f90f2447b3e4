package import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol

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
    /// Whether there was a record that cannot be read: the run of the stay that is found counts as interrupted.
    private var isDoubtful = false

    /// The record of a machine that no process has run before; `isDoubtful`: of one whose record cannot be read.
    init(boot: String, isDoubtful: Bool = false) {
        self.boot = boot
        self.isDoubtful = isDoubtful
    }

    /// The same in a process that goes on from there at that moment; `outlives`: commands outlive the process.
    func restored(
        among known: Set<CommandName>,
        boot: String,
        outlives: Bool,
        at now: StayMoment
    ) -> Record {
        var record = self
        record.boot = boot
        let isSame = self.boot == boot
        record.hooks?.work.restored(among: known, outlived: true, inSameBoot: isSame, at: now)
        let outlived = outlives && isSame
        record.run?.restored(among: known, outlived: outlived, inSameBoot: isSame, at: now)
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
    mutating func updated(by change: StayChange) {
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
    ///
    /// `file` is the one that was in force then, as far as that is known.
    mutating func left(by change: StayChange, under file: FileInForce?) {
        let left = change.from ?? self.stay?.state
        self.hooks = HookWork(change: change, left: left, leftStay: self.stay?.number, file: file)
    }

    /// The hooks of the change are done: the new stay is entered.
    mutating func entered(by change: StayChange) {
        self.cursor = change.cursor
        self.stay = EnteredStay(number: change.stay, state: change.state, line: change.line)
        self.hooks = nil
        guard self.isDoubtful else { return }
        self.isDoubtful = false
        self.run = RunWork()
        self.run?.ended(.interrupted)
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

    /// The attempt that runs has lasted, as `RunProgress.lasted(restarting:)` has it.
    mutating func lasted(restarting: Bool) {
        self.hooks?.work.progress.lasted(restarting: false)
        self.run?.progress.lasted(restarting: restarting)
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
            ("isDoubtful", self.isDoubtful ? true : nil),
        ])
    }

    /// Reads what is in the file of that machine.
    ///
    /// - Returns: nil as the record if it is another machine's; and which parts cannot be read: what they said is unknown,
    ///   and is not taken for nothing.
    package static func read(
        _ json: JSONValue,
        of label: MachineLabel
    ) -> (record: Record?, damage: [String]) {
        if let machine = json["machine"]?.string, machine != label.description { return (nil, []) }
        guard json["format"]?.integer == Int64(Self.format), json["machine"] != nil,
            let boot = json["boot"]?.string
        else { return (Record(boot: "", isDoubtful: true), ["format"]) }
        var damage: [String] = []
        func part<Part>(_ key: String, _ read: (JSONValue) -> Part?) -> Part? {
            guard let value = json[key] else { return nil }
            guard let part = read(value) else {
                damage.append(key)
                return nil
            }
            return part
        }
        var record = Record(boot: boot)
        record.stay = part("stay", EnteredStay.init)
        // Without the stay there is nothing that the rest could belong to.
        guard damage.isEmpty else { return (Record(boot: boot, isDoubtful: true), damage) }
        record.isDoubtful = json["isDoubtful"]?.bool ?? false
        record.cursor = json["cursor"]?.string
        // Hooks that cannot be read are those of the next change after the cursor, which comes again.
        record.hooks = part("hooks") { HookWork($0, of: label) }
        record.run = part("run") { RunWork($0, of: label) }
        if damage.contains("run") {
            let name = json["run"]?["name"].flatMap { CommandName($0, of: label) }
            record.run = RunWork(doubtful: name)
        }
        return (record, damage)
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
        let pause: Pause? = if case .pausing(let pause) = self.work.phase { pause } else { nil }
        return .members(
            [
                ("line", .string(self.change.line.text)),
                ("left", self.left?.json),
                ("leftStay", self.leftStay.map { .integer($0) }),
                ("last", self.last.map { .string($0.description) }),
                ("file", self.file.map { .string($0.declaration.recorded.text) }),
                ("attempt", .integer(self.work.progress.attempt)),
                ("interruptions", .integer(self.work.progress.interruptions)),
                ("running", self.name?.json),
            ] + Pause.members(pause) + Beginning.members(self.work.since)
        )
    }

    fileprivate init?(_ json: JSONValue, of label: MachineLabel) {
        guard let line = json["line"]?.string.flatMap({ Line(Array($0.utf8)) }),
            let change = StayChange(line)
        else { return nil }
        self.init(
            change: change,
            left: json["left"].flatMap(NamedState.of),
            leftStay: json["leftStay"]?.unsigned,
            file: nil
        )
        if let text = json["file"]?.string {
            let reading = DeclarationReading(Array(text.utf8))
            guard let declaration = reading.declaration else { return nil }
            self.file = FileInForce(declaration: declaration)
        }
        self.last = json["last"]?.string.flatMap(CommandName.Key.init)
        self.work.progress = RunProgress(json)
        self.work.since = Beginning(json)
        if let name = json["running"].flatMap({ CommandName($0, of: label) }) {
            (self.work.phase, self.work.name) = (.running, name)
        } else if let pause = Pause(json) {
            self.work.phase = .pausing(pause)
        }
    }
}

extension RunWork {
    fileprivate var json: JSONValue {
        var pause: Pause?
        var end: RunEnd?
        let phase: String
        switch self.phase {
        case .due: phase = "due"
        case .running: phase = "running"
        case .ended(let how): (phase, end) = ("ended", how)
        case .pausing(let present): (phase, pause) = ("pausing", present)
        case .telling(let how): (phase, end) = ("telling", how)
        case .over: phase = "over"
        }
        return .members(
            [
                ("name", self.name?.json),
                ("phase", .string(phase)),
                ("attempt", .integer(self.progress.attempt)),
                ("interruptions", .integer(self.progress.interruptions)),
                ("end", end?.data),
            ] + Beginning.members(self.since) + Pause.members(pause)
        )
    }

    fileprivate init?(_ json: JSONValue, of label: MachineLabel) {
        self.init()
        let end = json["end"]?.members.flatMap(Self.end)
        switch (json["phase"]?.string, end, Pause(json)) {
        case ("due", _, _): self.phase = .due
        case ("running", _, _): self.phase = .running
        case ("ended", let end?, _): self.phase = .ended(end)
        case ("pausing", _, let pause?): self.phase = .pausing(pause)
        case ("telling", let end?, _): self.phase = .telling(end)
        case ("over", _, _): self.phase = .over
        default: return nil
        }
        self.name = json["name"].flatMap { CommandName($0, of: label) }
        self.since = Beginning(json)
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

// In microseconds, as nothing is to be lost.
extension Beginning {
    fileprivate static func members(_ beginning: Beginning?) -> [(String, JSONValue?)] {
        [
            ("since", beginning.map { .string($0.wall.rfc3339) }),
            ("sinceUptime", beginning?.uptime.map { .integer($0) }),
        ]
    }

    fileprivate init?(_ json: JSONValue) {
        guard let wall = json["since"]?.time else { return nil }
        self.init(wall: wall, uptime: json["sinceUptime"]?.integer)
    }
}

extension Pause {
    fileprivate static func members(_ pause: Pause?) -> [(String, JSONValue?)] {
        [
            // Older runners read this.
            ("until", pause.map { .string(($0.began.wall + $0.length).rfc3339) }),
            ("pause", pause.map { .integer($0.length.wholeMicroseconds) }),
            ("pauseUptime", pause?.began.uptime.map { .integer($0) }),
        ]
    }

    fileprivate init?(_ json: JSONValue) {
        guard let until = json["until"]?.time else { return nil }
        // A record of an older runner says only when it ends; it began after the attempt.
        let attempt = Beginning(json).map { until.microseconds - $0.wall.microseconds }
        let length = Duration.microseconds(
            min(
                max(0, json["pause"]?.integer ?? attempt ?? 0),
                Retry.longestPause.wholeMicroseconds
            )
        )
        let began = Beginning(wall: until + (.zero - length), uptime: json["pauseUptime"]?.integer)
        self.init(length, from: began)
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

package import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// What must survive this process, whatever ends it.
package struct Record: Hashable, Sendable {
    /// The boot of the machine that it was written in.
    package let boot: String
    /// The cursor of the last change for which everything is done.
    package let cursor: String?
    /// The stay that was entered last.
    package let stay: EnteredStay?
    /// What is under way between two stays.
    package let hooks: HookWork?
    /// What is run in the stay.
    package let run: RunWork?
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
        let until: WallTime? = if case .pausing(let until) = self.phase { until } else { nil }
        return .members([
            ("line", .string(self.change.line.text)),
            ("left", self.left?.json),
            ("leftStay", self.leftStay.map { .integer($0) }),
            ("last", self.last.map { .string($0.description) }),
            ("attempt", .integer(self.attempt)),
            ("interruptions", .integer(self.interruptions)),
            ("running", self.name?.json),
            ("until", until.map { .string($0.rfc3339) }),
            ("since", self.since.map { .string($0.rfc3339) }),
        ])
    }

    fileprivate init?(_ json: JSONValue, of label: MachineLabel) {
        guard let line = json["line"]?.string.flatMap({ Line(Array($0.utf8)) }),
            let change = Change(line)
        else { return nil }
        self.init(
            change,
            left: json["left"].flatMap(NamedState.of),
            leftStay: json["leftStay"]?.unsigned
        )
        self.last = json["last"]?.string.flatMap(CommandName.Key.init)
        self.attempt = json["attempt"]?.count ?? 1
        self.interruptions = json["interruptions"]?.count ?? 0
        self.since = json["since"]?.time
        if let name = json["running"].flatMap({ CommandName($0, of: label) }) {
            self.phase = .running(name)
        } else if let until = json["until"]?.time {
            self.phase = .pausing(until: until)
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
        self.progress = RunProgress(
            attempt: json["attempt"]?.count ?? 1,
            interruptions: json["interruptions"]?.count ?? 0
        )
    }
}

extension RunWork {
    private static func end(_ members: [JSONMember]) -> RunEnd? {
        do {
            return try RunEnd(members)
        } catch {
            // Not a run's end that this version knows.
            return nil
        }
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

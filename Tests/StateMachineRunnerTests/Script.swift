import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import StateMachineRunner
import Testing

/// A conductor, its events, and the actions it asks for: each call returns those as words.
struct Script {
    static let machine = """
        machine: toy
        start: idle
        events: {go: {num: integer}}
        states:
          idle:
            enter: [[/bin/first], [/bin/second]]
            leave: /bin/third
            when: {go: working}
          working:
            fields: {num: integer, note: {type: string, default: none}}
            run: {command: [/bin/work, "{num}", "{note}"], stop: 3s, retry: {times: 2, wait: 5s, factor: 2}}
            done: idle
            exit: {21: asking}
            failed: broken
          asking: {when: {go: working}}
          broken: {enter: {command: /bin/alarm, retry: {times: 1, wait: 7s}}, when: {go: working}}
        """
    static let label = MachineLabel(machine: "toy", instance: nil, directory: "/run/statemachine")

    let declaration: Declaration
    var conductor: Conductor
    var now = StayMoment(
        uptime: 1_000_000_000,
        wall: WallTime(microseconds: 1_700_000_000_000_000)
    )
    /// The number of the last alarm that the conductor asked for.
    private(set) var alarm = 0
    private(set) var orders: [CommandOrder] = []
    private(set) var notices: [Notice] = []

    init(
        _ text: String = machine,
        record: StateMachineRunner.Record? = nil,
        known: Set<CommandName> = [],
        boot: String = "b1",
        outlives: Bool = true,
        at now: StayMoment? = nil
    ) throws {
        if let now { self.now = now }
        let reading = DeclarationReading(Array(text.utf8))
        self.declaration = try #require(
            reading.declaration,
            "\(reading.problems.map { $0.line(in: "file") })"
        )
        self.conductor = Conductor(
            self.declaration,
            record: record,
            known: known,
            boot: boot,
            outlives: outlives,
            label: Self.label,
            directory: RuntimeDirectory("/run/toy"),
            at: self.now
        )
    }

    /// Lets time pass; `setting` is by how much the wall clock is set meanwhile.
    mutating func pass(_ seconds: Int64, setting: Int64 = 0) {
        let wall = self.now.wall.microseconds + (seconds + setting) * 1_000_000
        self.now = StayMoment(
            uptime: self.now.uptime + seconds * 1_000_000,
            wall: WallTime(microseconds: wall)
        )
    }

    /// The script after a restart of the process, with what it wrote to the disk.
    ///
    /// `text` is the file by then, and `edited` changes what is on the disk.
    func restarted(
        _ text: String = machine,
        known: Set<CommandName> = [],
        boot: String = "b1",
        outlives: Bool = true,
        edited: (String) -> String = { $0 }
    ) throws -> Script {
        let written = edited(self.conductor.record.json(of: Self.label).description)
        let json = try #require(JSONValue(parsing: written))
        let read = StateMachineRunner.Record.read(json, of: Self.label)
        let record = try #require(read.record)
        return try Script(
            text,
            record: record,
            known: known,
            boot: boot,
            outlives: outlives,
            at: self.now
        )
    }

    static func name(_ state: String, _ key: CommandName.Key, _ seq: UInt64) -> CommandName {
        CommandName(self.label, state: state, key, seq: seq)
    }

    // MARK: - What happens

    /// The first line of a watch, or one that stands for missed changes.
    mutating func found(
        _ seq: UInt64,
        _ state: String,
        _ data: String = "{}",
        stay: UInt64? = nil,
        resync: String? = nil
    ) -> [String] {
        let rest = resync.map { #","resync":"\#($0)""# } ?? ""
        return self.line(
            #"{"type":"state","seq":\#(seq),"state":"\#(state)","data":\#(data),"cursor":"e:\#(seq)""#
                + #","stay":\#(stay ?? seq)\#(rest)}"#
        )
    }

    /// A change that begins a stay; with `stay`, one that does not.
    mutating func change(
        _ seq: UInt64,
        _ state: String,
        _ data: String = "{}",
        from: String,
        stay: UInt64? = nil,
        isReplay: Bool = false
    ) -> [String] {
        let rest =
            (stay.map { #","stay":\#($0)"# } ?? "") + (isReplay ? #","replay":true"# : "")
        return self.line(
            #"{"type":"change","seq":\#(seq),"state":"\#(state)","data":\#(data),"#
                + #""from":{"state":"\#(from)","data":{}},"cursor":"e:\#(seq)"\#(rest)}"#
        )
    }

    private mutating func line(_ text: String) -> [String] {
        guard let line = Line(Array(text.utf8)), let change = StayChange(line) else { return ["?"] }
        return self.words(self.conductor.received(change, at: self.now))
    }

    mutating func caughtUp() -> [String] { self.words(self.conductor.caughtUp(at: self.now)) }

    mutating func connected() -> [String] { self.words(self.conductor.connected(at: self.now)) }

    mutating func agreed(_ text: String? = nil) -> [String] {
        let other = text.flatMap { DeclarationReading(Array($0.utf8)).declaration }
        return self.words(self.conductor.agreed(on: other ?? self.declaration, at: self.now))
    }

    mutating func disagreed() -> [String] { self.words(self.conductor.disagreed(at: self.now)) }

    mutating func ended(
        _ name: CommandName,
        _ kind: RunEnd?,
        after duration: Duration = .seconds(1)
    ) -> [String] {
        let end = kind.map { CommandEnd($0, duration: duration) }
        return self.words(self.conductor.ended(name, end, at: self.now))
    }

    mutating func failed(_ name: CommandName, isStart: Bool) -> [String] {
        let error = CommandHostError("no room")
        return self.words(self.conductor.failed(name, error, isStart: isStart, at: self.now))
    }

    mutating func stopped(_ name: CommandName, _ kind: RunEnd? = .interrupted) -> [String] {
        let end = kind.map { CommandEnd($0, duration: .seconds(1)) }
        return self.words(self.conductor.stopped(name, end, at: self.now))
    }

    mutating func told(_ answer: Answer, stay: UInt64) -> [String] {
        self.words(self.conductor.told(answer, stay: stay, at: self.now))
    }

    mutating func woke() -> [String] { self.words(self.conductor.woke(self.alarm, at: self.now)) }

    mutating func end(_ ending: Conductor.Ending) -> [String] {
        self.words(self.conductor.end(ending, at: self.now))
    }

    // MARK: - What is to be done

    private mutating func words(_ actions: [Action]) -> [String] {
        var words: [String] = []
        for action in actions {
            switch action {
            case .record: if words.last != "record" { words.append("record") }
            case .recordSoon: words.append("soon")
            case .begin(let order, let afresh):
                self.orders.append(order)
                words.append("begin \(Self.short(order.name))\(afresh ? " afresh" : "")")
            case .await(let name): words.append("await \(Self.short(name))")
            case .stop(let name): words.append("stop \(Self.short(name))")
            case .forget(let name): words.append("forget \(Self.short(name))")
            case .tell(let end, let stay): words.append("tell \(end.data) of \(stay.cursor ?? "?")")
            case .wake(let number, let pause):
                self.alarm = number
                words.append("wake \(pause.timeText)")
            case .note(let notice): self.notices.append(notice)
            case .finish: words.append("finish")
            }
        }
        return words
    }

    private static func short(_ name: CommandName) -> String {
        String(name.description.dropFirst("statemachine-toy-".count))
    }
}

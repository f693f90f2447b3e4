import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import TestSupport

/// A walk of a simulated machine, as `statectl try` has it, each step checked against the model.
struct SimulatedWalk {
    private var simulation: Simulation
    private let declaration: Declaration
    private var machine: ModelledMachine
    private var random: SeededGenerator
    private var now: Int64 = 0
    /// In which stay the command's end is over, or runs again at a time that the model does not know.
    private var endedStay: Int?
    /// The steps so far as lines of a trace, each with where it leads.
    private(set) var trace: [String] = []

    init(_ text: String, seed: UInt64) throws {
        let reading = DeclarationReading(Array(text.utf8))
        guard let declaration = reading.declaration else {
            throw TestFailure("mistakes: \(reading.problems.map { $0.line(in: "machine") })")
        }
        self.declaration = declaration
        self.simulation = Simulation(declaration)
        self.machine = ModelledMachine(try MachineModel(text), uptime: 0, wall: Self.epoch)
        self.random = SeededGenerator(seed: seed)
        // A moment may have passed already.
        while self.machine.timePassed(to: self.moment) {}
    }

    private var declared: MachineModel.State? { self.machine.model.states[self.machine.state] }
    private var moment: ModelledMachine.Moment { (self.now, self.now + Self.epoch) }

    /// 2000-01-01, when its clock begins.
    private static let epoch: Int64 = 946_684_800_000_000
    /// What a trace can wait for: 400 days.
    private static let longest: Int64 = 34_560_000_000_000
    /// The most moves of its own in one step.
    private static let mostMoves = 100

    /// Why it has changed, as often as it has.
    var causes: [String?] { self.machine.changes.map(\.cause) }
    var silences: Int { self.machine.silences }

    mutating func walk(steps: Int) throws {
        for number in 1...steps {
            do {
                try self.step()
                try self.compare()
            } catch {
                let last = self.trace.suffix(12).joined(separator: "\n")
                throw TestFailure("step \(number): \(error)\n\(last)")
            }
        }
        // The same as a trace.
        let text = self.trace.joined(separator: "\n")
        do {
            _ = try Trace(text).run(on: self.declaration)
        } catch {
            let lines = self.trace.prefix(error.line).suffix(12).joined(separator: "\n")
            throw TestFailure("\(error.text(in: "trace"))\n\(lines)")
        }
    }

    private mutating func step() throws {
        switch Int.random(in: 0..<14, using: &self.random) {
        case 0..<2: try self.set()
        case 2..<7: try self.send()
        case 7..<9: try self.update()
        case 9..<11: try self.endRun()
        case 11: try self.reboot()
        default: try self.pass()
        }
    }

    private mutating func set() throws {
        let name = self.one(of: self.machine.model.states.keys.sorted())
        let fields = self.machine.model.states[name]?.fields ?? [:]
        let data = self.values(fields)
        let answer = self.machine.set(name, data, ifStay: nil, reenter: false, at: self.moment)
        try self.check(answer, "set \(name)\(Self.words(data, fields))") { simulation in
            try simulation.set(name, data: Self.members(data))
        }
    }

    private mutating func send() throws {
        let name = self.one(of: self.machine.model.events.keys.sorted())
        let fields = self.machine.model.events[name] ?? [:]
        let data = self.values(fields)
        let answer = self.machine.send(name, data, ifStay: nil, at: self.moment)
        try self.check(answer, "send \(name)\(Self.words(data, fields))") { simulation in
            try simulation.send(name, data: Self.members(data))
        }
    }

    private mutating func update() throws {
        let fields = self.declared?.fields ?? [:]
        var data = self.values(fields)
        for name in fields.keys.sorted() where Bool.random(using: &self.random) {
            data[name] = nil
        }
        var amounts: [String: ModelledMachine.Value] = [:]
        for name in fields.keys.sorted()
        where data[name] == nil && Bool.random(using: &self.random) {
            amounts[name] = .number(self.one(of: ["1", "-1", "0.5", "9007199254740993"]))
        }
        guard !data.isEmpty || !amounts.isEmpty else { return }
        let answer = self.machine.update(
            data.mapValues { $0 },
            adding: amounts,
            ifStay: nil,
            at: self.moment
        )
        let line = "update\(Self.words(data, fields))\(Self.words(amounts, [:], "+"))"
        try self.check(answer, line) { simulation in
            try simulation.update(
                FieldWords(values: Self.members(data), amounts: Self.members(amounts))
            )
        }
    }

    private mutating func endRun() throws {
        guard self.declared?.run != nil, self.endedStay != self.machine.stay else { return }
        let (end, means, line): (RunEnd, MachineModel.End, String) =
            switch Int.random(in: 0..<6, using: &self.random) {
            case 0..<2: (.exit(0), .exit(0), "ends 0")
            case 2: (.exit(3), .exit(3), "ends 3")
            case 3: (.exit(9), .exit(9), "ends 9")
            case 4: (.signal("SIGSEGV"), .signal("SIGSEGV"), "is killed by SIGSEGV")
            default: (.interrupted, .interrupted, "is interrupted")
            }
        let stay = self.machine.stay
        var answer = ModelledMachine.Answer.unchanged(isHandled: nil)
        if end != .interrupted || !self.machine.isRunAgain {
            answer = self.machine.runEnded(means, ifStay: stay, at: self.moment)
        }
        self.endedStay = stay
        try self.check(answer, "run \(line)") { try $0.endRun(end, times: 1) }
    }

    private mutating func reboot() throws {
        guard self.machine.seq > 0, self.endedStay != self.machine.stay else { return }
        let stay = self.machine.stay
        self.machine.daemonBegan()
        if !self.machine.booted(at: self.moment), self.declared?.run != nil {
            // What ran was interrupted.
            if !self.machine.isRunAgain {
                _ = self.machine.runEnded(.interrupted, ifStay: stay, at: self.moment)
            }
            self.endedStay = stay
        }
        try self.check(.changed, "reboot") { try $0.reboot() }
    }

    private mutating func pass() throws {
        var time = Int64.random(in: 10...400_000, using: &self.random)
        if let due = self.machine.dueUptime(at: self.moment), due - self.now <= Self.longest,
            Bool.random(using: &self.random)
        {
            time = max(10, (due - self.now) / 1000 - Int64.random(in: 0...1, using: &self.random))
        }
        var (end, moves) = (self.now + time * 1000, 0)
        let (start, least) = (self.now, self.now + 10_000)
        while let due = self.machine.dueUptime(at: self.moment), due <= end {
            self.now = max(self.now, due)
            guard self.machine.timePassed(to: self.moment) else { break }
            moves += 1
            // Its times may be short, and lead in a circle.
            if moves == Self.mostMoves { end = max(self.now, least) }
        }
        time -= (start + time * 1000 - end) / 1000
        self.now = end
        try self.check(.changed, "wait \(time)ms") { try $0.pass(.milliseconds(time)) }
    }

    // MARK: - What comes of it

    private mutating func check(
        _ answer: ModelledMachine.Answer,
        _ line: String,
        _ body: (inout Simulation) throws -> Void
    ) throws {
        while self.machine.timePassed(to: self.moment) {}
        var refusal: WireError?
        do {
            try body(&self.simulation)
        } catch let error as WireError {
            refusal = error
        }
        var expected = "\(self.machine.state)\(self.written)"
        switch answer {
        case .changed, .unchanged:
            guard refusal == nil else { throw TestFailure("\(line): \(refusal as Any)") }
        case .refused(let code):
            expected = "refused"
            guard refusal?.code.description == code else {
                throw TestFailure("\(line): to be \(code): \(refusal as Any)")
            }
        case .declined(let text):
            expected = "refused"
            guard refusal?.code == .refused, refusal?.message == text else {
                throw TestFailure("\(line): to be refused: \(refusal as Any)")
            }
        }
        self.trace.append("\(line) -> \(expected)")
    }

    private func compare() throws {
        let state = self.simulation.state
        var isRight = state.declared.name == self.machine.state
        for field in state.declared.fields {
            let value: ModelledMachine.Value? =
                switch state[field.name] {
                case .number(let text)?: .number(text)
                case .string(let text)?: .text(text)
                case .bool(let bool)?: .boolean(bool)
                case nil, .null?, .array?, .object?: nil
                }
            isRight = isRight && value == self.machine.data[field.name]
        }
        guard isRight else {
            let expected =
                "\(self.machine.state)\(Self.words(self.machine.data, self.declared?.fields ?? [:]))"
            throw TestFailure("to be \(expected): \(state.written)")
        }
    }

    /// The data as words, without numbers, which may be spelled in several ways.
    private var written: String {
        Self.words(
            self.machine.data.filter { $0.value.decimal == nil },
            [:]
        )
    }

    private static func words(
        _ data: [String: ModelledMachine.Value],
        _ fields: [String: MachineModel.Field],
        _ sign: String = ""
    ) -> String {
        data.sorted { $0.key < $1.key }.map { name, value in
            switch value {
            case .text(let text): " \"\(name)\(sign)=\(text)\""
            case .number(let text) where fields[name]?.type == "time": " \(name)=\(text)ms"
            case .number, .boolean: " \(name)\(sign)=\(value.json)"
            }
        }.joined()
    }

    private static func members(_ data: [String: ModelledMachine.Value]) -> [JSONMember] {
        data.sorted { $0.key < $1.key }.compactMap { name, value in
            JSONValue(parsing: value.json).map { JSONMember(name, $0) }
        }
    }

    // MARK: - Chance

    /// Values of the right types, most of which fit.
    private mutating func values(
        _ fields: [String: MachineModel.Field]
    ) -> [String: ModelledMachine.Value] {
        var values: [String: ModelledMachine.Value] = [:]
        for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
            let chance = Int.random(in: 0..<24, using: &self.random)
            guard chance > 2 else { continue }
            let all = RandomMachine.literals(field.type, near: self.moment.wall)
                .map { field.value($0) }
            let some = chance > 4 ? (all + field.values).filter { field.takes($0) } : all
            values[name] = some.randomElement(using: &self.random)
        }
        return values
    }

    private mutating func one<Item>(of items: [Item]) -> Item {
        items[Int.random(in: 0..<items.count, using: &self.random)]
    }
}

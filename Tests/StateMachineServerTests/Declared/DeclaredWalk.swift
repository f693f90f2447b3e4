import Foundation
import StateMachineCore
import StateMachineProtocol
import TestSupport

/// One walk: requests, time, clocks, ends, reloads, restarts and power cuts, each checked against the model.
///
/// `@unchecked Sendable`: used by one task, and while that waits for a reload by what asks for the file.
final class DeclaredWalk: @unchecked Sendable {
    private(set) var machine: ModelledMachine
    private(set) var count = 0
    /// How often each refusal was given, and each of the machine's own changes was made, by its
    /// cause.
    private(set) var seen: [String: Int] = [:]
    /// The files, of which each life takes one.
    private let editions: [String]
    private let seed: UInt64
    private var state: String
    /// What a kill of the daemon left, from which the next one goes on; nil: it ended by itself.
    private var killed: String?
    /// The number of the file.
    private var edition = 0
    private var random: SeededGenerator
    private var clock = ManualStayClock()
    private var boot = 1
    /// Whether the computer has been restarted since the daemon ran.
    private var isBooting = false
    private var steps: [String] = []

    init(_ editions: [String], seed: UInt64, state: String) throws {
        self.editions = editions
        self.seed = seed
        self.state = state
        self.random = SeededGenerator(seed: seed)
        let moment = self.clock.moment
        self.machine = ModelledMachine(
            try MachineModel(editions[0]),
            uptime: moment.uptime,
            wall: moment.wall.microseconds
        )
    }

    private var now: (uptime: Int64, wall: Int64) {
        (self.clock.moment.uptime, self.clock.moment.wall.microseconds)
    }

    /// The declaration of the present state.
    private var declared: MachineModel.State? {
        self.machine.model.states[self.machine.state]
    }

    // MARK: - Lives

    /// One run of the daemon, for some steps.
    func life(of most: Int) async throws {
        let end = min(most, self.count + Int.random(in: 1...200, using: &self.random))
        self.edition = Int.random(in: 0..<self.editions.count, using: &self.random)
        let model = try MachineModel(self.editions[self.edition])
        if self.steps.isEmpty {
            // The first life knows of no file but its own.
            self.machine = ModelledMachine(
                model,
                uptime: self.now.uptime,
                wall: self.now.wall
            )
        } else {
            self.machine.becomes(model)
        }
        self.steps.append("edition \(self.edition)")
        let next: @Sendable () -> String = { self.editions[self.edition] }
        try await DeclaredDaemon.run(
            self.editions[self.edition],
            state: self.state,
            boot: "\(self.boot)",
            clock: self.clock,
            reload: next
        ) { daemon in
            let client = try daemon.connect()
            let watch = try daemon.connect()
            do {
                try await self.begin(client, watch)
                while self.count < end {
                    self.count += 1
                    try await self.step(client, watch)
                }
                if Int.random(in: 0..<3, using: &self.random) == 0 {
                    self.killed = try leftovers(of: self.state)
                }
            } catch {
                let last = self.steps.suffix(12).joined(separator: "\n")
                throw TestFailure("seed \(self.seed), step \(self.count): \(error)\n\(last)")
            }
        }
        self.end()
    }

    /// What happens while nothing runs: time passes, and sometimes the computer is restarted.
    private func end() {
        if let killed = exchange(&self.killed, with: nil) {
            try? FileManager.default.removeItem(atPath: self.state)
            self.state = killed
            self.steps.append("a kill")
        }
        let pause = Duration.seconds(Int.random(in: 0...400, using: &self.random))
        if Int.random(in: 0..<3, using: &self.random) > 0 {
            self.clock.pass(pause)
            self.steps.append("a restart after \(pause)")
            if Int.random(in: 0..<4, using: &self.random) == 0 { self.setClock() }
            return
        }
        // By the wall clock, which may lose some of the time meanwhile.
        let wall =
            self.now.wall + pause.wholeMicroseconds
            - Int64.random(in: 0...100_000_000, using: &self.random)
        self.clock = ManualStayClock(uptime: .seconds(7), wall: WallTime(microseconds: wall))
        self.boot += 1
        self.isBooting = true
        self.steps.append("boot \(self.boot)")
    }

    private func begin(_ client: LineSocket, _ watch: LineSocket) async throws {
        // The move of a boot, or of a past deadline, comes before the first request or shortly
        // after it.
        self.machine.daemonBegan()
        if exchange(&self.isBooting, with: false) {
            _ = self.machine.booted(at: self.now)
        } else {
            self.machine.clockWasSet(at: self.now)
        }
        while self.machine.timePassed(to: self.now) {}
        try await self.settle(client)
        let first = try await watch.ask("watch")
        try self.compare(first, "watch", self.machine.shown(at: self.now))
        try await self.ask("get", client)
    }

    /// Waits until it is where it has to be: a time that changes nothing makes no line.
    private func settle(_ client: LineSocket) async throws {
        let patience = ContinuousClock.now + .seconds(60)
        while true {
            let reply = try await client.ask("get")
            do {
                return try self.compareWhole(reply)
            } catch  where ContinuousClock.now < patience {
                continue
            }
        }
    }

    private func setClock() {
        let by = Duration.seconds(
            [-7200, -3600, -100, -30, 30, 100, 3600, 7200].randomElement(using: &self.random) ?? 0
        )
        self.clock.setWall(by: by)
        self.steps.append("the clock is set by \(by)")
    }

    // MARK: - Steps

    private func step(_ client: LineSocket, _ watch: LineSocket) async throws {
        var seq = self.machine.seq
        let silences = self.machine.silences
        switch Int.random(in: 0..<30, using: &self.random) {
        case 0..<6: try await self.set(client)
        case 6..<14: try await self.send(client)
        case 14..<16: try await self.update(client)
        case 16..<23: try await self.endRun(client)
        case 23: try await self.clockIsSet(client)
        case 24: try await self.reload(client, watch)
        default: try await self.passTime(client)
        }
        // A withheld move comes after the request that releases it.
        while self.machine.timePassed(to: self.now) {}
        while seq < self.machine.seq {
            let change = try await watch.next()
            let shown = self.machine.changes[seq]
            seq += 1
            try self.compare(change, "change", shown)
            let cause = shown.cause
            if let cause { self.seen[cause, default: 0] += 1 }
            guard change.seq == seq, change.string("cause") == cause,
                change.has("by") == (cause == nil)
            else {
                throw TestFailure("not \(seq) for \(cause ?? "somebody"): \(change)")
            }
        }
        if self.machine.silences > silences {
            self.seen["nothing", default: 0] += 1
            try await self.settle(client)
        }
        // When this is answered, the daemon has begun to wait for what is due now.
        try await self.ask("get", client)
    }

    private func set(_ client: LineSocket) async throws {
        let name = self.name(self.machine.model.states.keys, self.declared?.next ?? [])
        var data = self.values(self.machine.model.states[name]?.fields ?? [:])
        if name == self.machine.state, Bool.random(using: &self.random) { data = self.machine.data }
        let (ifStay, condition) = self.condition()
        let reenter = Int.random(in: 0..<8, using: &self.random) == 0
        let answer = self.machine.set(name, data, ifStay: ifStay, reenter: reenter, at: self.now)
        try await self.ask(
            #"{"op":"set","state":"\#(name)","data":\#(data.json)\#(condition)\#(reenter ? #","reenter":true"# : "")}"#,
            client,
            answer
        )
    }

    private func send(_ client: LineSocket) async throws {
        let name = self.name(
            self.machine.model.events.keys,
            self.declared?.reactions.keys.sorted() ?? []
        )
        let data = self.values(self.machine.model.events[name] ?? [:])
        let (ifStay, condition) = self.condition()
        let answer = self.machine.send(name, data, ifStay: ifStay, at: self.now)
        try await self.ask(
            #"{"op":"send","event":"\#(name)","data":\#(data.json)\#(condition)}"#,
            client,
            answer
        )
    }

    private func update(_ client: LineSocket) async throws {
        let fields = self.declared?.fields ?? [:]
        var data: [String: ModelledMachine.Value?] = self.values(fields).mapValues { $0 }
        if let name = fields.keys.sorted().randomElement(using: &self.random),
            Int.random(in: 0..<4, using: &self.random) == 0
        {
            data[name] = .some(nil)
        }
        var amounts: [String: ModelledMachine.Value] = [:]
        if Bool.random(using: &self.random) {
            if Int.random(in: 0..<3, using: &self.random) > 0 { data = [:] }
            for name in fields.keys.sorted() where Bool.random(using: &self.random) {
                // One in both is no request.
                guard data[name] == nil || Int.random(in: 0..<8, using: &self.random) == 0 else {
                    continue
                }
                amounts[name] = ["1", "1", "-1", "2", "0.5", "9007199254740993"]
                    .randomElement(using: &self.random).map { .number($0) }
            }
        }
        let (ifStay, condition) = self.condition()
        let answer = self.machine.update(data, adding: amounts, ifStay: ifStay, at: self.now)
        let json = data.map { "\"\($0.key)\":\($0.value?.json ?? "null")" }
            .joined(separator: ",")
        let add = amounts.isEmpty ? "" : #","add":\#(amounts.json)"#
        try await self.ask(
            #"{"op":"update","data":{\#(json)}\#(add)\#(condition)}"#,
            client,
            answer
        )
    }

    private func endRun(_ client: LineSocket) async throws {
        let end = self.someEnd()
        var stay: Int? = self.machine.stay
        switch Int.random(in: 0..<12, using: &self.random) {
        case 0: stay = self.machine.stay + 1
        case 1: stay = self.machine.stay - 1
        case 2: stay = nil
        default: break
        }
        // A stay's number is never negative.
        if let given = stay, given < 0 { stay = nil }
        let answer = self.machine.runEnded(end.means, ifStay: stay, at: self.now)
        let condition = stay.map { #","ifStay":\#($0)"# } ?? ""
        let line = #"{"op":"send","event":"run.ended","data":\#(end.json)\#(condition)}"#
        try await self.ask(line, client, answer)
        // What is due at once comes before or after it.
        let isDue = self.machine.dueUptime(at: self.now).map { $0 <= self.now.uptime } ?? false
        guard answer == .changed, !isDue, Bool.random(using: &self.random) else { return }
        // Sent twice, it counts once.
        try await self.ask(line, client, .refused("conflict"))
    }

    /// The end of a command, as it is written; nil if what is written is not one.
    private func someEnd() -> (json: String, means: MachineModel.End?) {
        switch Int.random(in: 0..<20, using: &self.random) {
        case 0: return (#"{}"#, nil)
        case 1: return (#"{"exit":0,"signal":"SIGKILL"}"#, nil)
        case 2: return (#"{"exit":true}"#, nil)
        case 3..<8: return (#"{"exit":0}"#, .exit(0))
        case 8: return (#"{"signal":"SIGSEGV"}"#, .signal("SIGSEGV"))
        case 9..<11: return (#"{"timeout":true}"#, .timeout)
        case 11..<13: return (#"{"interrupted":true}"#, .interrupted)
        default:
            let codes = self.declared?.run?.exits.keys.sorted() ?? []
            let code = (codes + [1, 3, 21]).randomElement(using: &self.random) ?? 1
            return (#"{"exit":\#(code)}"#, .exit(code))
        }
    }

    private func passTime(_ client: LineSocket) async throws {
        var time = Duration.milliseconds(Int.random(in: 1...400_000, using: &self.random))
        if let left = self.machine.leftMs(at: self.now), left > 1,
            Bool.random(using: &self.random)
        {
            // Just before the deadline, or exactly at it.
            time = .milliseconds(left - Int.random(in: 0...1, using: &self.random))
        }
        self.clock.pass(time)
        self.steps.append("\(time) pass")
        // A timer may come after the pending requests are answered, but no later: the next answer
        // is given after it.
        _ = try await client.ask("ping")
    }

    private func clockIsSet(_ client: LineSocket) async throws {
        self.setClock()
        self.machine.clockWasSet(at: self.now)
        _ = try await client.ask("ping")
    }

    private func reload(_ client: LineSocket, _ watch: LineSocket) async throws {
        guard self.editions.count > 1 else { return }
        self.edition = (self.edition + 1) % self.editions.count
        self.steps.append("reload of edition \(self.edition)")
        self.machine.reloaded(try MachineModel(self.editions[self.edition]))
        let reply = try await client.ask(#"{"op":"reload"}"#)
        self.steps.append("\(reply)")
        let line = try await watch.next()
        guard reply.ok == true, line.type == "declared",
            line.string("version") == "\(self.edition)"
        else { throw TestFailure("no reload: \(reply) \(line)") }
    }

    // MARK: - What is asked

    /// One of the names, more often one that has an effect.
    private func name(_ names: some Sequence<String>, _ useful: some Sequence<String>) -> String {
        let number = Int.random(in: 0..<20, using: &self.random)
        if number == 0 { return "nosuch" }
        let some = number < 12 ? useful.sorted() : []
        return (some.isEmpty ? names.sorted() : some).randomElement(using: &self.random)
            ?? "nosuch"
    }

    private func condition() -> (Int?, String) {
        switch Int.random(in: 0..<8, using: &self.random) {
        case 0: (self.machine.stay, #","ifStay":\#(self.machine.stay)"#)
        case 1: (self.machine.stay + 1, #","ifStay":\#(self.machine.stay + 1)"#)
        default: (nil, "")
        }
    }

    /// Values for some of the fields, most of which fit.
    private func values(_ fields: [String: MachineModel.Field]) -> [String: ModelledMachine.Value] {
        var values: [String: ModelledMachine.Value] = [:]
        for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
            switch Int.random(in: 0..<24, using: &self.random) {
            case 0..<3: continue
            case 3: values[name] = .boolean(true)
            case 4: values[name] = .number("\(Int.random(in: -3...120, using: &self.random))")
            case 5: values[name] = .text("elsewhere")
            default:
                let all =
                    RandomMachine.literals(field.type, near: self.now.wall)
                    .map { field.value($0) } + field.values
                let some = all.filter { field.takes($0) }
                values[name] = some.randomElement(using: &self.random)
            }
        }
        if Int.random(in: 0..<30, using: &self.random) == 0 { values["nosuch"] = .number("1") }
        return values
    }

    // MARK: - What is answered

    private func ask(
        _ line: String,
        _ client: LineSocket,
        _ answer: ModelledMachine.Answer? = nil
    ) async throws {
        self.steps.append(line)
        let reply = try await client.ask(line)
        switch answer {
        case .changed:
            guard reply.ok == true, reply.bool("changed") == true else {
                throw TestFailure("it is to change: \(reply)")
            }
        case .unchanged(let isHandled):
            guard reply.ok == true, reply.bool("changed") == false,
                isHandled == nil || reply.bool("handled") == isHandled
            else {
                throw TestFailure("nothing is to change, handled \(isHandled as Any): \(reply)")
            }
        case .refused(let code):
            self.seen[code, default: 0] += 1
            guard reply.error == code else { throw TestFailure("to be \(code): \(reply)") }
            // An invalid request is answered without looking at the machine.
            guard reply.has("seq") else { return }
        case .declined(let text):
            self.seen["refused", default: 0] += 1
            guard reply.error == "refused", reply.bool("handled") == true,
                reply.string("message")?.utf8.elementsEqual(text.utf8) == true
            else { throw TestFailure("to be refused, \(text): \(reply)") }
        case nil: break
        }
        if line == "get" { return try self.compareWhole(reply) }
        try self.compare(reply, line, self.machine.shown(at: self.now))
    }

    /// Checks that the answer to `get` agrees with the model.
    private func compareWhole(_ reply: JSONLine) throws {
        try self.compare(reply, "get", self.machine.shown(at: self.now))
        let left = self.machine.leftMs(at: self.now)
        guard reply.leftMs == left else { throw TestFailure("left \(left as Any): \(reply)") }
    }

    /// Checks that a line agrees with the model.
    private func compare(
        _ line: JSONLine,
        _ what: String,
        _ shown: ModelledMachine.Shown
    ) throws {
        var isRight = line.seq == shown.seq && line.state == shown.state
        if line.type != "change" || line.has("stay") {
            isRight = isRight && line.int("stay") == shown.stay
        }
        isRight = isRight && line.has(shown.data, behind: #""state":"#, in: line.item("data"))
        let due = line.item("due")
        isRight = isRight && due?.string("state") == shown.due?.state
        if let expected = shown.due {
            isRight =
                isRight && due?.string("at") == WallTime(microseconds: expected.wall).rfc3339
                && line.has(expected.data, behind: #""due":{"#, in: due?.item("data"))
        }
        guard isRight else {
            throw TestFailure(
                "\(what): to be \(shown.state) \(shown.data.json) at \(shown.seq) of \(shown.stay), due \(shown.due as Any): \(line)"
            )
        }
    }
}

extension [String: ModelledMachine.Value] {
    fileprivate var json: String {
        "{" + self.map { "\"\($0.key)\":\($0.value.json)" }.joined(separator: ",") + "}"
    }
}

extension JSONLine {
    /// Whether `data` has just these values; in the line it is the first one behind that text.
    fileprivate func has(
        _ values: [String: ModelledMachine.Value],
        behind text: String,
        in data: JSONLine?
    ) -> Bool {
        guard data?.names == Set(values.keys) else { return false }
        return values.allSatisfy { name, value in
            switch value {
            case .text(let text): data?.string(name)?.utf8.elementsEqual(text.utf8) == true
            case .number: self.number(name, behind: text).map { .number($0) } == value
            case .boolean(let bool): data?.bool(name) == bool
            }
        }
    }

    /// The number of that name in the first `data` behind that text, with all its digits.
    private func number(_ name: String, behind text: String) -> String? {
        let line = self.description
        guard let start = line.range(of: text),
            let data = line.range(of: "\"data\":{", range: start.upperBound..<line.endIndex),
            let key = line.range(of: "\"\(name)\":", range: data.upperBound..<line.endIndex)
        else { return nil }
        return String(line[key.upperBound...].prefix { !",}".contains($0) })
    }
}

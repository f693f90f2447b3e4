import StateMachineCore
import TestSupport

/// A machine as ``MachineModel`` describes it: where it is, and how each request must be answered.
struct ModelledMachine {
    typealias Value = MachineModel.Value

    private(set) var model: MachineModel
    private(set) var state: String
    private(set) var data: [String: Value]
    private(set) var seq = 0
    private(set) var stay = 0
    /// When the deadline began, in microseconds of uptime and of the wall clock.
    private var began: (uptime: Int64, wall: Int64)
    /// The cause that each change must have, from the first; nil for one that somebody asked for.
    private(set) var causes: [String?] = []
    private var breaker = MoveBreaker()

    /// What an answer must say.
    enum Answer: Hashable {
        case changed
        case unchanged(isHandled: Bool?)
        case refused(String)
        /// As the file says.
        case declined(String)
    }

    /// What comes of cases.
    private enum Pick {
        case stay, again, ignore
        case keep([String: Value])
        case enter(String, [String: Value])
        case refuse(String)
        /// The values of the last case do not fit.
        case misfit
    }

    /// An event's fields, and what it gives them.
    private struct Event {
        var fields: [String: MachineModel.Field] = [:]
        var values: [String: Value] = [:]
    }

    init(_ model: MachineModel, uptime: Int64, wall: Int64) {
        self.model = model
        self.began = (uptime, wall)
        self.state = model.start.state ?? ""
        self.data = [:]
        self.data = self.filled(model.start, Event()) ?? [:]
    }

    /// Another file, in which the states are called the same and have the same fields.
    mutating func becomes(_ model: MachineModel) { self.model = model }

    private var declared: MachineModel.State { self.declared(self.state) }

    private func declared(_ name: String) -> MachineModel.State {
        guard let state = self.model.states[name] else { preconditionFailure("no state \(name)") }
        return state
    }

    /// What `due` says: the target, and the time by the wall clock; nil if nothing is due.
    var due: (state: String, wall: Int64)? {
        guard let after = self.declared.after else { return nil }
        let state =
            switch self.pick(after.cases) {
            case .enter(let state, _): state
            case .again: self.state
            case .stay, .ignore, .keep, .refuse, .misfit: ""
            }
        return (state, self.began.wall + after.micros)
    }

    /// When time moves it, by its uptime.
    var dueUptime: Int64? { self.declared.after.map { self.began.uptime + $0.micros } }

    func leftMs(at uptime: Int64) -> Int? {
        self.dueUptime.map { max(0, Int($0 - uptime) / 1000) }
    }

    // MARK: - Requests

    mutating func set(
        _ name: String,
        _ given: [String: Value],
        ifStay: Int?,
        reenter: Bool,
        at now: (Int64, Int64)
    ) -> Answer {
        guard let next = self.model.states[name] else { return .refused("unknown-state") }
        guard Self.fit(given, next.fields), let data = Self.complete(given, next.fields) else {
            return .refused("bad-data")
        }
        self.breaker = MoveBreaker()
        if let ifStay, ifStay != self.stay { return .refused("conflict") }
        if name == self.state, data == self.data {
            guard reenter else { return .unchanged(isHandled: nil) }
        } else if !self.declared.next.contains(name) {
            return .refused("illegal-transition")
        }
        self.enter(name, data, nil, now)
        return .changed
    }

    mutating func send(
        _ event: String,
        _ given: [String: Value],
        ifStay: Int?,
        at now: (Int64, Int64)
    ) -> Answer {
        if self.model.events[event] != nil { self.breaker = MoveBreaker() }
        if let ifStay, ifStay != self.stay { return .refused("conflict") }
        guard let fields = self.model.events[event] else { return .refused("unknown-event") }
        guard Self.fit(given, fields), let values = Self.complete(given, fields) else {
            return .refused("bad-data")
        }
        guard let cases = self.declared.reactions[event] else {
            return .unchanged(isHandled: false)
        }
        switch self.pick(cases, Event(fields: fields, values: values)) {
        case .ignore: return .unchanged(isHandled: true)
        case .stay:
            self.began = now
            return .unchanged(isHandled: true)
        case .keep(let data):
            guard data != self.data else { return .unchanged(isHandled: true) }
            self.keep(data)
        case .enter(let state, let data): self.enter(state, data, nil, now)
        case .refuse(let text): return .declined(text)
        case .again, .misfit: return .refused("bad-data")
        }
        return .changed
    }

    mutating func update(
        _ given: [String: Value?],
        adding amounts: [String: Value] = [:],
        ifStay: Int?
    ) -> Answer {
        guard amounts.keys.allSatisfy({ given.index(forKey: $0) == nil }) else {
            return .refused("bad-request")
        }
        self.breaker = MoveBreaker()
        if let ifStay, ifStay != self.stay { return .refused("conflict") }
        var data = self.data
        for (name, value) in given {
            guard let field = self.declared.fields[name] else { return .refused("bad-data") }
            guard let value else {
                guard field.isOptional else { return .refused("bad-data") }
                data[name] = nil
                continue
            }
            guard field.takes(value) else { return .refused("bad-data") }
            data[name] = value
        }
        for (name, amount) in amounts {
            guard let field = self.declared.fields[name],
                let sum = field.sum(self.data[name], amount, isDown: false), field.takes(sum)
            else { return .refused("bad-data") }
            data[name] = sum
        }
        guard data != self.data else { return .unchanged(isHandled: nil) }
        self.keep(data)
        return .changed
    }

    // MARK: - By itself

    /// The command of a stay has ended; nil: in an invalid way.
    mutating func runEnded(
        _ end: MachineModel.End?,
        ifStay: Int?,
        at now: (uptime: Int64, wall: Int64)
    ) -> Answer {
        guard let ifStay else { return .refused("bad-request") }
        guard let end else { return .refused("bad-data") }
        guard ifStay == self.stay else { return .refused("conflict") }
        // Whoever reports an interruption after which it is to be run again has given up.
        let means = end == .interrupted && self.isRunAgain ? .signal("") : end
        guard let way = self.declared.run?.cases(of: means) else {
            return .unchanged(isHandled: false)
        }
        let pick = self.pick(way.list)
        if case .ignore = pick { return .unchanged(isHandled: true) }
        if case .misfit = pick { return .refused("bad-data") }
        guard self.mayMove(at: now.uptime) else { return .refused("suspended") }
        self.move(pick, way.cause, now)
        return .changed
    }

    /// Whether a command that was interrupted is run again.
    var isRunAgain: Bool {
        guard let cases = self.declared.run?.interrupted else { return true }
        if case .again = self.pick(cases, isForRun: true) { return true }
        return false
    }

    /// A new run of the daemon does not know the previous one's moves.
    mutating func daemonBegan() { self.breaker = MoveBreaker() }

    private mutating func mayMove(at uptime: Int64) -> Bool {
        let (most, micros) = (self.model.breaker.most, self.model.breaker.micros)
        let limit = MoveBreaker.Limit(most: most, time: .microseconds(micros))
        return self.breaker.permits(limit, at: uptime)
    }

    /// Moves the machine if a deadline has passed, once; returns whether it did.
    mutating func timePassed(to now: (uptime: Int64, wall: Int64)) -> Bool {
        guard let after = self.declared.after, self.began.uptime + after.micros <= now.uptime,
            self.mayMove(at: now.uptime)
        else { return false }
        self.move(self.pick(after.cases), "after \(after.text)", now)
        return true
    }

    /// The computer was restarted; the wall clock counts for the time in between.
    ///
    /// - Returns: whether that moves it.
    mutating func booted(at now: (uptime: Int64, wall: Int64)) -> Bool {
        let elapsed = max(0, now.wall - self.began.wall)
        self.began = (now.uptime - elapsed, now.wall - elapsed)
        // Before the first change nothing was kept.
        guard let boot = self.declared.boot, self.seq > 0 else { return false }
        let pick = self.pick(boot)
        if case .ignore = pick { return false }
        self.move(pick, "boot", now)
        return true
    }

    private mutating func move(_ pick: Pick, _ cause: String, _ now: (Int64, Int64)) {
        guard case .enter(let state, let data) = pick else {
            preconditionFailure("\(cause) leads to \(pick)")
        }
        self.breaker.moved(at: now.0)
        self.enter(state, data, cause, now)
    }

    private mutating func enter(
        _ name: String,
        _ data: [String: Value],
        _ cause: String?,
        _ now: (Int64, Int64)
    ) {
        self.state = name
        self.data = data
        self.seq += 1
        self.stay = self.seq
        self.began = now
        self.causes.append(cause)
    }

    private mutating func keep(_ data: [String: Value]) {
        self.data = data
        self.seq += 1
        self.causes.append(nil)
    }

    // MARK: - Cases

    /// What the first case does that holds, and whose values fit; `isForRun`: whether `again` is what a command is run.
    private func pick(
        _ cases: [MachineModel.Case],
        _ event: Event = Event(),
        isForRun: Bool = false
    ) -> Pick {
        for item in cases
        where item.conditions.allSatisfy({ $0.holds { self.found($0, event) } }) {
            switch item.outcome {
            case .stay: return .stay
            case .ignore: return .ignore
            case .refuse(let text): return .refuse(text)
            case .again where isForRun: return .again
            case .again:
                let target = MachineModel.Target(state: nil)
                if let data = self.filled(target, event) { return .enter(self.state, data) }
            case .keep(let target):
                if let data = self.filled(target, event) { return .keep(data) }
            case .enter(let target):
                if let data = self.filled(target, event) {
                    return .enter(target.state ?? self.state, data)
                }
            }
        }
        return .misfit
    }

    /// The field that a name means, and its value, before the move.
    private func found(_ name: String, _ event: Event) -> (field: MachineModel.Field, value: Value?)
    {
        let parts = name.split(separator: ".").map(String.init)
        let isEvent = parts.count == 2 ? parts[0] == "event" : event.fields[name] != nil
        let own = parts.last ?? ""
        let field = isEvent ? event.fields[own] : self.declared.fields[own]
        guard let field else { preconditionFailure("no field \(name) in \(self.state)") }
        return (field, isEvent ? event.values[own] : self.data[own])
    }

    // MARK: - Fields

    private static func fit(
        _ given: [String: Value],
        _ fields: [String: MachineModel.Field]
    ) -> Bool {
        given.allSatisfy { fields[$0.key]?.takes($0.value) ?? false }
    }

    /// Adds defaults; nil if a required value is missing.
    private static func complete(
        _ given: [String: Value],
        _ fields: [String: MachineModel.Field]
    ) -> [String: Value]? {
        var values = given
        for (name, field) in fields where values[name] == nil {
            if let fallback = field.fallback {
                values[name] = fallback
            } else if !field.isOptional {
                return nil
            }
        }
        return values
    }

    /// The target's data: its own values, else the event's, else the state's, else the defaults;
    /// nil if something does not fit, or cannot be counted.
    private func filled(_ target: MachineModel.Target, _ event: Event) -> [String: Value]? {
        let fields = self.declared(target.state ?? self.state).fields
        var literals = target.data.reduce(into: [:]) { $0[$1.key] = $1.value }
        var steps = target.add.map { (field: $0.key, amount: $0.value, isDown: false) }
        for (key, value) in target.words {
            let sign = key.last
            if fields[key] == nil, sign == "+" || sign == "-" {
                steps.append((String(key.dropLast()), value, sign == "-"))
            } else {
                literals[key] = value
            }
        }
        var values: [String: Value] = [:]
        for (name, field) in fields {
            values[name] =
                literals[name].map(field.value) ?? event.values[name] ?? self.data[name]
                ?? field.fallback
        }
        for step in steps {
            let isField = step.amount.hasPrefix("{")
            let amount =
                isField
                ? self.found(String(step.amount.dropFirst().dropLast()), event).value
                : .number(step.amount)
            guard
                let sum = fields[step.field]?
                    .sum(self.data[step.field], amount, isDown: step.isDown)
            else { return nil }
            values[step.field] = sum
        }
        return Self.fit(values, fields) ? values : nil
    }
}

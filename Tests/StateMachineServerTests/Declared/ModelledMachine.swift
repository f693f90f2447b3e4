import StateMachineCore
import TestSupport

/// A machine as ``MachineModel`` describes it: where it is, and how each request must be answered.
struct ModelledMachine {
    typealias Value = MachineModel.Value

    typealias Moment = (uptime: Int64, wall: Int64)

    private(set) var model: MachineModel
    private(set) var state: String
    private(set) var data: [String: Value]
    private(set) var seq = 0
    private(set) var stay = 0
    /// From when on the state's own times count, and those of its groups, by the groups' names.
    private var own: Counting
    private var groups: [String: Counting] = [:]
    /// What each change must show, from the first.
    private(set) var changes: [Shown] = []
    /// How often a time has come that changed nothing.
    private(set) var silences = 0
    private var breaker = MoveBreaker()

    /// What a line must say.
    struct Shown {
        let seq: Int
        let stay: Int
        let state: String
        let data: [String: Value]
        let due: Due?
        /// Why it was made; nil: somebody asked for it.
        var cause: String?
    }

    /// What time leads to next, and when by the wall clock.
    struct Due {
        let state: String
        let data: [String: Value]
        let wall: Int64
    }

    /// Times that count from one moment: the stay's, or a group's.
    private struct Counting {
        var start: ModelledStart
        /// The change that it counts from.
        var entered = 0
        /// What the fields had then that say when they are.
        var values: [String: Value] = [:]
        /// Those that have come.
        var passed: Set<String> = []
        /// Those that some file has had since.
        var known: Set<String> = []
    }

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
        /// What is left of the state's own next time when it comes.
        var remaining: Value?
    }

    init(_ model: MachineModel, uptime: Int64, wall: Int64) {
        self.model = model
        self.own = Counting(start: ModelledStart(uptime: uptime, wall: wall))
        self.state = model.start.state ?? ""
        self.data = [:]
        self.data = self.filled(model.start, Event()) ?? [:]
        self.own = self.counting(nil, (uptime, wall))
        for group in self.declaredGroups {
            self.groups[group] = self.counting(group, (uptime, wall))
        }
    }

    /// Another file, in which the states are called the same and have the same fields.
    ///
    /// What is known of a time stays known, though a file in between does not have it; a new one looks at what there is now, and counts from when the others of the
    /// same state or group do, else from the stay's start.
    mutating func becomes(_ model: MachineModel) {
        self.model = model
        func carried(_ counting: Counting?, _ group: String?) -> Counting {
            // When the stay was entered is known after it was renewed, too, where a group counts from then.
            let entry = self.groups.values.first { $0.entered == self.stay }?.start
            var new =
                counting ?? Counting(start: entry ?? self.own.start, entered: self.stay)
            for time in self.declared.times
            where time.group == group && new.known.insert(time.text).inserted {
                if case .field(let name) = time.moment {
                    new.values[time.text] = self.data[name]
                }
            }
            return new
        }
        self.own = carried(self.own, nil)
        for group in self.declaredGroups {
            self.groups[group] = carried(self.groups[group], group)
        }
    }

    /// The same while it runs: moves that were suspended are made again.
    mutating func reloaded(_ model: MachineModel) {
        self.becomes(model)
        self.breaker = MoveBreaker()
    }

    private var declared: MachineModel.State { self.declared(self.state) }

    private func declared(_ name: String) -> MachineModel.State {
        guard let state = self.model.states[name] else { preconditionFailure("no state \(name)") }
        return state
    }

    /// Those groups of the present state that have times.
    private var declaredGroups: Set<String> { Set(self.declared.times.compactMap(\.group)) }

    // MARK: - Times

    private func counting(_ group: String?, _ now: Moment) -> Counting {
        let start = ModelledStart(uptime: now.uptime, wall: now.wall)
        var counting = Counting(start: start, entered: self.stay)
        for time in self.declared.times where time.group == group {
            counting.known.insert(time.text)
            if case .field(let name) = time.moment { counting.values[time.text] = self.data[name] }
        }
        return counting
    }

    /// The microseconds that are left until a time, and when it is by the wall clock; nil if it is not waited for.
    private func left(_ time: MachineModel.Time, _ now: Moment) -> (micros: Int64, wall: Int64)? {
        let counting = time.group.map { self.groups[$0] } ?? self.own
        guard let counting, !counting.passed.contains(time.text) else { return nil }
        let delay: Int64
        switch (time.moment, counting.values[time.text]) {
        case (.after(let micros), _): delay = micros
        case (.field, .number(let text)?): delay = (Int64(text) ?? 0) * 1000
        case (.field, .text(let text)?):
            guard let wall = MachineModel.wall(text) else { return nil }
            return (wall - now.wall, wall)
        case (.field, _): return nil
        }
        let start = counting.start
        return (start.uptime + delay - now.uptime, start.wall + delay)
    }

    private func next(_ now: Moment) -> (time: MachineModel.Time, left: Int64, wall: Int64)? {
        self.declared.times
            .compactMap { time in
                self.left(time, now).map { (time: time, left: $0.micros, wall: $0.wall) }
            }
            .min { $0.left < $1.left }
    }

    /// What is due.
    func due(at now: Moment) -> Due? {
        self.next(now).map { next in
            switch self.pick(next.time.cases) {
            case .enter(let state, let data): Due(state: state, data: data, wall: next.wall)
            case .keep(let data): Due(state: self.state, data: data, wall: next.wall)
            case .stay, .again, .ignore, .refuse, .misfit:
                Due(state: self.state, data: self.data, wall: next.wall)
            }
        }
    }

    /// When the next time comes, by the uptime.
    func dueUptime(at now: Moment) -> Int64? { self.next(now).map { now.uptime + $0.left } }

    func leftMs(at now: Moment) -> Int? { self.next(now).map { max(0, Int($0.left) / 1000) } }

    /// What is left of the state's own next time, of at least 10 ms; nil if none is due.
    private func remaining(_ now: Moment) -> Value? {
        self.declared.times.filter { $0.group == nil }
            .compactMap { self.left($0, now)?.micros }.min()
            .map { .number("\(max(10, $0 / 1000))") }
    }

    /// What a line must show now.
    func shown(at now: Moment) -> Shown {
        Shown(
            seq: self.seq,
            stay: self.stay,
            state: self.state,
            data: self.data,
            due: self.due(at: now)
        )
    }

    /// The wall clock was set.
    mutating func clockWasSet(at now: Moment) {
        self.forEachStart { $0.clockWasSet(at: now) }
    }

    private mutating func forEachStart(_ body: (inout ModelledStart) -> Void) {
        body(&self.own.start)
        for group in Array(self.groups.keys) {
            if var counting = self.groups[group] {
                body(&counting.start)
                self.groups[group] = counting
            }
        }
    }

    // MARK: - Requests

    mutating func set(
        _ name: String,
        _ given: [String: Value],
        ifStay: Int?,
        reenter: Bool,
        at now: Moment
    ) -> Answer {
        guard let next = self.model.states[name] else { return .refused("unknown-state") }
        // The machine's fields go along with every move.
        let fields = next.fields.filter { self.model.shared[$0.key] == nil }
        guard Self.fit(given, next.fields), var data = Self.complete(given, fields) else {
            return .refused("bad-data")
        }
        self.breaker = MoveBreaker()
        for name in self.model.shared.keys where given[name] == nil { data[name] = self.data[name] }
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
        at now: Moment
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
        let sent = Event(fields: fields, values: values, remaining: self.remaining(now))
        switch self.pick(cases, sent) {
        case .ignore: return .unchanged(isHandled: true)
        case .stay:
            self.own = self.counting(nil, now)
            return .unchanged(isHandled: true)
        case .keep(let data):
            guard data != self.data else { return .unchanged(isHandled: true) }
            self.keep(data, nil, now)
        case .enter(let state, let data): self.enter(state, data, nil, now)
        case .refuse(let text): return .declined(text)
        case .again, .misfit: return .refused("bad-data")
        }
        return .changed
    }

    mutating func update(
        _ given: [String: Value?],
        adding amounts: [String: Value] = [:],
        ifStay: Int?,
        at now: Moment
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
        self.keep(data, nil, now)
        return .changed
    }

    // MARK: - By itself

    /// The command of a stay has ended; nil: in an invalid way.
    mutating func runEnded(
        _ end: MachineModel.End?,
        ifStay: Int?,
        at now: Moment
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

    /// Has the next time do what it does if it has come; returns whether it has.
    mutating func timePassed(to now: Moment) -> Bool {
        guard let (time, left, _) = self.next(now), left <= 0 else { return false }
        let pick = self.pick(time.cases)
        var changesNothing = false
        switch pick {
        case .ignore: changesNothing = true
        case .keep(let data): changesNothing = data == self.data
        case .stay, .again, .enter, .refuse, .misfit: break
        }
        // What changes nothing is no move; but while moves are suspended nothing happens by itself.
        guard changesNothing ? !self.breaker.isOpen : self.mayMove(at: now.uptime) else {
            return false
        }
        if let group = time.group {
            self.groups[group]?.passed.insert(time.text)
        } else {
            self.own.passed.insert(time.text)
        }
        if changesNothing {
            self.silences += 1
        } else if case .keep(let data) = pick {
            self.breaker.moved(at: now.uptime)
            self.keep(data, "after \(time.text)", now)
        } else {
            self.move(pick, "after \(time.text)", now)
        }
        return true
    }

    /// The computer was restarted; the wall clock counts for the time in between.
    ///
    /// - Returns: whether that moves it.
    mutating func booted(at now: Moment) -> Bool {
        self.forEachStart { $0.booted(at: now) }
        // Before the first change nothing was kept.
        guard let boot = self.declared.boot, self.seq > 0 else { return false }
        let pick = self.pick(boot)
        if case .ignore = pick { return false }
        // It enters its groups, wherever it comes from.
        self.groups = [:]
        self.move(pick, "boot", now)
        return true
    }

    private mutating func move(_ pick: Pick, _ cause: String, _ now: Moment) {
        guard case .enter(let state, let data) = pick else {
            preconditionFailure("\(cause) leads to \(pick)")
        }
        self.breaker.moved(at: now.uptime)
        self.enter(state, data, cause, now)
    }

    private mutating func enter(
        _ name: String,
        _ data: [String: Value],
        _ cause: String?,
        _ now: Moment
    ) {
        let known = self.groups.filter { self.declaredGroups.contains($0.key) }
        self.state = name
        self.data = data
        self.seq += 1
        self.stay = self.seq
        self.own = self.counting(nil, now)
        self.groups = [:]
        for group in self.declaredGroups {
            guard var going = known[group] else {
                self.groups[group] = self.counting(group, now)
                continue
            }
            // What the file does not have is forgotten with the stay.
            going.known = Set(self.declared.times.filter { $0.group == group }.map(\.text))
            going.values = going.values.filter { going.known.contains($0.key) }
            going.passed.formIntersection(going.known)
            self.groups[group] = going
        }
        self.note(cause, now)
    }

    private mutating func keep(_ data: [String: Value], _ cause: String?, _ now: Moment) {
        self.data = data
        self.seq += 1
        self.note(cause, now)
    }

    private mutating func note(_ cause: String?, _ now: Moment) {
        var shown = self.shown(at: now)
        shown.cause = cause
        self.changes.append(shown)
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
        let asks = target.words.filter {
            $0.value == "{remaining}" && fields[$0.key]?.type == "time"
        }
        .map(\.key)
        if !asks.isEmpty, event.remaining == nil { return nil }
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
                (asks.contains(name) ? event.remaining : nil)
                ?? literals[name].map(field.value) ?? event.values[name] ?? self.data[name]
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

/// From when on times count: within a boot the uptime says how much has passed, and from one boot to the next the wall
/// clock.
struct ModelledStart {
    /// As if in this boot, and what the wall clock showed then, or would have.
    private(set) var uptime: Int64
    private(set) var wall: Int64
    /// What it showed then, if the computer has been booted since.
    private var origin: Int64?

    /// How far both clocks may be apart before one was set.
    private static let tolerance: Int64 = 1_000_000

    init(uptime: Int64, wall: Int64) {
        self.uptime = uptime
        self.wall = wall
    }

    /// No less than nothing has passed; of a clock that is behind, at least what it has advanced since it was looked at.
    mutating func booted(at now: ModelledMachine.Moment) {
        let origin = self.origin ?? self.wall
        self.wall = now.wall < origin ? min(self.wall, now.wall) : origin
        self.uptime = now.uptime - (now.wall - self.wall)
        self.origin = origin
    }

    /// Within a boot that changes nothing but what is shown; after one a clock is believed that says that more has passed.
    mutating func clockWasSet(at now: ModelledMachine.Moment) {
        let elapsed = max(0, now.uptime - self.uptime)
        if let origin, now.wall - origin > elapsed + Self.tolerance {
            self.uptime = now.uptime - (now.wall - origin)
            self.wall = origin
        } else if abs(now.wall - elapsed - self.wall) > Self.tolerance {
            self.wall = now.wall - elapsed
        }
    }
}

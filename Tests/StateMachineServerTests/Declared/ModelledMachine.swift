import StateMachineCore
import TestSupport

/// A machine as ``MachineModel`` describes it: where it is, and how each request must be answered.
struct ModelledMachine {
    typealias Value = MachineModel.Value

    let model: MachineModel
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
    }

    init(_ model: MachineModel, uptime: Int64, wall: Int64) {
        self.model = model
        self.began = (uptime, wall)
        self.state = model.start.state
        self.data = [:]
        self.data = self.filled(model.start, [:]) ?? [:]
    }

    private var declared: MachineModel.State { self.declared(self.state) }

    private func declared(_ name: String) -> MachineModel.State {
        guard let state = self.model.states[name] else { preconditionFailure("no state \(name)") }
        return state
    }

    /// What `due` says: the target, and the time by the wall clock; nil if nothing is due.
    var due: (state: String, wall: Int64)? {
        self.declared.after.map { ($0.target.state, self.began.wall + $0.micros) }
    }

    func leftMs(at uptime: Int64) -> Int? {
        self.declared.after.map { max(0, Int(self.began.uptime + $0.micros - uptime) / 1000) }
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
        switch self.declared.reactions[event] {
        case nil: return .unchanged(isHandled: false)
        case .ignore: return .unchanged(isHandled: true)
        case .stay:
            self.began = now
            return .unchanged(isHandled: true)
        case .again:
            guard let data = self.filled(.init(self.state), values) else {
                return .refused("bad-data")
            }
            self.enter(self.state, data, nil, now)
        case .enter(let target):
            guard let data = self.filled(target, values) else { return .refused("bad-data") }
            self.enter(target.state, data, nil, now)
        }
        return .changed
    }

    mutating func update(_ given: [String: Value?], ifStay: Int?) -> Answer {
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
        guard data != self.data else { return .unchanged(isHandled: nil) }
        self.data = data
        self.seq += 1
        self.causes.append(nil)
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
        guard let way = self.declared.run?.way(of: end) else {
            return .unchanged(isHandled: false)
        }
        guard self.mayMove(at: now.uptime) else { return .refused("suspended") }
        self.enter(way.target, way.cause, now)
        return .changed
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
        self.enter(after.target, "after \(after.text)", now)
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
        switch boot {
        case .again:
            self.breaker.moved(at: now.uptime)
            self.enter(self.state, self.data, "boot", now)
        case .enter(let target): self.enter(target, "boot", now)
        case .stay, .ignore: return false
        }
        return true
    }

    private mutating func enter(
        _ target: MachineModel.Target,
        _ cause: String,
        _ now: (Int64, Int64)
    ) {
        guard let data = self.filled(target, [:]) else {
            preconditionFailure("\(cause) leads to data that does not fit")
        }
        self.breaker.moved(at: now.0)
        self.enter(target.state, data, cause, now)
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
    /// nil if something does not fit.
    private func filled(
        _ target: MachineModel.Target,
        _ event: [String: Value]
    ) -> [String: Value]? {
        let fields = self.declared(target.state).fields
        var values: [String: Value] = [:]
        for (name, field) in fields {
            values[name] =
                target.literals[name].map(field.value) ?? event[name] ?? self.data[name]
                ?? field.fallback
        }
        return Self.fit(values, fields) ? values : nil
    }
}

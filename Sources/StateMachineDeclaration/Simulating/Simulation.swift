package import StateMachineCore
package import StateMachineProtocol

/// A declared machine on its own clock: nothing is executed, and time passes only on request.
///
/// What a client asks for may be refused, which throws a `WireError`; what cannot happen is a
/// ``SimulationError``.
package struct Simulation {
    /// The state of the present stay's run.
    private enum Phase {
        /// There is no run, or it has ended for good.
        case over
        case running(since: Duration)
        /// The run has ended badly and is run again then.
        case waiting(until: Duration)
    }

    /// The most moves that a machine may make by itself during one line of a trace.
    ///
    /// 100,000: a cycle that the breaker permits makes that many in a day and a half.
    private static let mostMoves = 100_000

    private let declaration: Declaration
    /// The state that the machine is in.
    package private(set) var state: DeclaredState
    /// The number of the present stay.
    private var stay = 1
    private var now = Duration.zero
    /// When the times of the stay began.
    private var began = Duration.zero
    /// When groups were entered, by the numbers of the stays that did so.
    private var entries: [UInt64: Duration] = [1: .zero]
    private var phase: Phase
    private var progress = RunProgress()
    /// What asks for a move that the breaker withholds.
    private var withheld: Stimulus?
    /// What is seen of other machines.
    private var sight = Sight()
    private var seen: [String: NamedState] = [:]
    private var lookouts: LinkWatch
    /// What has happened and is to be made of the stay once its requirements are met.
    private var denied: [Stimulus] = []
    private var breaker = MoveBreaker()
    /// Which cases were taken since they were last asked for, and why none before them.
    private var choices: [String] = []

    /// A machine that has just begun.
    package init(_ declaration: Declaration) {
        self.declaration = declaration
        // Its first stay is number 1 here.
        self.state = declaration.initial.knowing([], in: 1)
        self.phase = self.state.declared.run == nil ? .over : .running(since: .zero)
        self.lookouts = LinkWatch(stay: UInt64(self.stay))
        // A moment may have passed already; what cannot be is found out by the first line that lets time pass.
        try? self.pass(.zero)
    }

    /// Sends an event, as a client does; one that the machine does not have asks for nothing.
    package mutating func send(
        _ event: String,
        data: @autoclosure () throws -> [JSONMember]
    ) throws {
        _ = try self.declaration.number(ofEvent: event)
        try self.perform { simulation in
            let decision = try simulation.decision(on: .event(event, try data()))
            simulation.make(try simulation.admitted(decision.made))
        }
    }

    /// Sets a state, as a client does; setting the present state changes nothing.
    package mutating func set(_ name: String, data: [JSONMember]) throws {
        let next = try self.declaration.state(name, data: data).completed(by: self.state)
        try self.perform { simulation in
            guard next != simulation.state else { return }
            if let refusal = simulation.state.legality(of: next) { throw refusal }
            if let denial = simulation.denial(of: next) { throw denial }
            simulation.enter(next.entered(at: simulation.place.seq + 1, from: simulation.state))
        }
    }

    /// Changes fields of the present state, as a client does.
    package mutating func update(_ fields: FieldWords) throws {
        try self.perform { $0.make(try $0.decision(on: .update(fields)).made) }
    }

    /// Lets time pass; what falls due meanwhile happens at its time.
    package mutating func pass(_ time: Duration) throws {
        let end = self.now + time
        var moves = 0
        func count() throws {
            moves += 1
            guard moves <= Self.mostMoves else { throw SimulationError.restless(Self.mostMoves) }
        }
        while self.withheld == nil {
            if try self.look() {
                try count()
                continue
            }
            guard let (key, due) = self.next, due <= end else { break }
            try count()
            self.now = max(self.now, due)
            try self.move(on: .time(key))
        }
        self.now = end
        if case .waiting(let until) = self.phase, until <= end {
            self.phase = .running(since: until)
        }
    }

    /// Sees a linked machine in a state; nil: it cannot be seen any longer.
    package mutating func see(_ link: String, _ state: NamedState?) throws {
        guard self.declaration.links.contains(where: { $0.name == link }) else {
            throw WireError(
                .badData,
                "there is no link \(link.quoted)"
                    + NearestName.remark(on: link, among: self.declaration.links.map(\.name))
            )
        }
        self.seen[link] = state
        let conditions = self.declaration.linkConditions.filter { $0.link == link }
        self.sight.note(
            link,
            is: state,
            of: Dictionary(
                uniqueKeysWithValues: conditions.map { condition in
                    (condition, .success(Pattern(writing: .string(condition.pattern))))
                }
            )
        )
        self.lookAt { $0.link == link }
        self.lookouts.retry()
        let stay = self.stay
        for stimulus in exchange(&self.denied, with: []) where self.stay == stay {
            try self.move(on: stimulus)
        }
        try self.pass(.zero)
    }

    /// Looks whether what the state looks for is seen of those machines that can be seen.
    private mutating func lookAt(_ isWanted: (LinkCondition) -> Bool) {
        let conditions = self.declaration.lookouts(at: self.place)
            .filter { isWanted($0) && self.seen[$0.link] != nil }
        let holding = conditions.filter { self.sight.holds($0) }.map(\.written)
        _ = self.lookouts.saw(conditions.map(\.written)) { holding.contains($0) }
    }

    /// Has something happen that has come to be seen; false if nothing is to.
    private mutating func look() throws(WireError) -> Bool {
        guard let attempt = self.lookouts.next(), let condition = LinkCondition(attempt.key)
        else { return false }
        let made = try self.decision(on: .seen(condition)).made
        if case .enter(let next) = made, let denial = self.denial(of: next.declared) {
            self.choices.append(denial.message)
            self.lookouts.failed(attempt)
            return true
        }
        self.lookouts.happened(attempt)
        _ = self.carryOut(made, for: .seen(condition))
        return true
    }

    /// Why a state may not be entered by what is seen; nil if it may.
    private func denial(of next: DeclaredState) -> WireError? {
        let denials = self.declaration.denials(of: TypedValue(next), seeing: self.sight)
        return denials.isEmpty ? nil : WireError(.denied, denials.lacks)
    }

    private func admitted(_ made: Move.Made) throws(WireError) -> Move.Made {
        if case .enter(let next) = made, let denial = self.denial(of: next.declared) {
            throw denial
        }
        return made
    }

    /// Ends the run of the present stay that many times; the waits in between pass.
    package mutating func endRun(_ end: RunEnd, times: Int) throws {
        let stay = self.stay
        for number in 1...times {
            do {
                try self.endRun(end)
            } catch SimulationError.leftMeanwhile where number > 1 {
                throw SimulationError.leftEarly(ends: number - 1, of: times)
            }
            guard self.stay == stay || number == times else {
                throw SimulationError.leftEarly(ends: number, of: times)
            }
        }
    }

    private mutating func endRun(_ end: RunEnd) throws {
        let stay = self.stay
        if case .waiting(let until) = self.phase {
            try self.pass(max(.zero, until - self.now))
            guard self.stay == stay else { throw SimulationError.leftMeanwhile }
        }
        guard let run = self.state.declared.run, case .running(let since) = self.phase else {
            throw SimulationError.noRun(self.state.declared.name)
        }
        if end == .timeout {
            guard let timeout = run.command.timeout else {
                throw SimulationError.noTimeout(self.state.declared.name)
            }
            try self.pass(max(.zero, since + timeout - self.now))
            guard self.stay == stay else { throw SimulationError.leftMeanwhile }
        }
        let (retry, restarts) = (run.command.retry, run.restarts)
        if let enough = self.progress.lasting(retrying: retry, restarting: restarts),
            self.now - since >= enough
        {
            self.progress.lasted(restarting: restarts)
        }
        switch self.progress.ended(end, in: self.state) {
        case .again(let wait): self.phase = .waiting(until: self.now + wait)
        case .over(let end):
            self.phase = .over
            try self.move(on: .runEnded(end))
        }
        try self.pass(.zero)
    }

    /// Reboots the machine: makes the boot's move, else does what an interrupted run does.
    ///
    /// At the first start after a boot nothing is seen yet, and then what was seen before is seen again.
    package mutating func reboot() throws {
        self.breaker = MoveBreaker()
        self.withheld = nil
        self.sight = Sight()
        let seen = exchange(&self.seen, with: [:])
        let isCut = try self.move(on: .boot)
        let stay = self.stay
        for link in self.declaration.links.map(\.name) {
            if let state = seen[link] { try self.see(link, state) }
        }
        if !isCut, self.stay == stay, case .running = self.phase {
            return try self.endRun(.interrupted)
        }
        try self.pass(.zero)
    }

    /// Lets time pass until that moment; nothing happens if it has been.
    package mutating func pass(until moment: WallTime) throws {
        try self.pass(max(.zero, Self.time(of: moment) - self.now))
    }

    /// When that moment is on its clock, which begins on 2000-01-01.
    private static func time(of moment: WallTime) -> Duration {
        .microseconds(moment.microseconds - 946_684_800_000_000)
    }

    /// The first of the times that it waits for, and when that is.
    private var next: (key: String, at: Duration)? {
        self.state.due.filter { !self.isDenied($0.key) }
            .map { due in (due.key, self.time(of: due)) }.min { $0.1 < $1.1 }
    }

    /// Whether that time has come, and waits for what is seen of others.
    private func isDenied(_ key: String) -> Bool {
        self.denied.contains { if case .time(key) = $0 { true } else { false } }
    }

    /// Whether that is still to be made of the stay: a time that has begun anew is to come again first.
    private func isStanding(_ stimulus: Stimulus) -> Bool {
        guard case .time(let key) = stimulus else { return true }
        return self.state.due.contains { $0.key == key && self.time(of: $0) <= self.now }
    }

    private func time(of due: Due) -> Duration {
        switch due.moment {
        case .after(let delay): (due.group.flatMap { self.entries[$0] } ?? self.began) + delay
        case .at(let moment): Self.time(of: moment)
        }
    }

    /// What is left of the state's own next time.
    private var remaining: Duration? {
        self.state.due.filter { $0.group == nil }
            .map { max(.zero, self.time(of: $0) - self.now) }.min()
    }

    /// Carries out what a client asks for, and then what the breaker has withheld, unless the stay has ended.
    ///
    /// A refused request releases that as well.
    private mutating func perform(_ request: (inout Self) throws -> Void) throws {
        _ = self.breaker.lift()
        let answer = Result { try request(&self) }
        self.release()
        try self.pass(.zero)
        try answer.get()
    }

    /// Makes the move that the breaker has withheld.
    private mutating func release() {
        guard let stimulus = self.withheld.take() else { return }
        let stay = self.stay
        // What was seen lets others go first.
        if case .seen = stimulus, let (key, due) = self.next, due <= self.now {
            _ = try? self.move(on: .time(key))
        }
        if self.stay == stay { _ = try? self.move(on: stimulus) }
    }

    /// Has the machine move by itself; returns whether it does anything about that.
    @discardableResult
    private mutating func move(on stimulus: Stimulus) throws(WireError) -> Bool {
        let made = try self.decision(on: stimulus).made
        switch made {
        case .enter, .keep, .pass: return self.carryOut(made, for: stimulus)
        case .renew, .nothing: return false
        }
    }

    /// Has the machine make a move of its own, unless a requirement or the breaker is against it.
    ///
    /// - Returns: whether no requirement is.
    private mutating func carryOut(_ made: Move.Made, for stimulus: Stimulus) -> Bool {
        let now = self.now.wholeMicroseconds
        if case .enter(let next) = made, let denial = self.denial(of: next.declared) {
            // It is tried again when something is seen.
            self.choices.append(denial.message)
            self.denied.append(stimulus)
            return true
        }
        switch made {
        // A deadline that a machine has begin anew by itself counts as well.
        case .enter, .keep, .renew:
            guard self.breaker.permits(self.declaration.breaker, at: now) else {
                self.withheld = stimulus
                return true
            }
            self.breaker.moved(at: now)
        case .pass, .nothing: break
        }
        self.make(made)
        return true
    }

    /// Which cases were taken since this was last asked, and why none before them; where there was no choice, nothing.
    package mutating func takeChoices() -> [String] { exchange(&self.choices, with: []) }

    private mutating func decision(on stimulus: Stimulus) throws(WireError) -> Decision {
        let remaining = self.remaining
        let choice = try? self.state.choice(on: stimulus, seeing: self.sight, remaining: remaining)
        if let choice = choice ?? nil {
            self.choices.append(choice)
        }
        return try self.declaration.decide(
            stimulus,
            at: self.place,
            seeing: self.sight,
            remaining: remaining
        )
    }

    /// Where it is, as the rules ask; nothing there depends on the time or the count of changes.
    private var place: Place {
        Place(
            seq: UInt64(self.stay),
            value: TypedValue(self.state),
            at: WallTime(microseconds: 0),
            stay: UInt64(self.stay)
        )
    }

    private mutating func make(_ made: Move.Made) {
        switch made {
        case .enter(let next): self.enter(next.declared)
        case .keep(let next):
            // As a daemon does, which of an unchanged number keeps how it is written.
            if next.declared != self.state { self.state = next.declared }
        case .pass(let next): self.state = next.declared
        case .renew(let next, _):
            self.state = next.declared
            self.began = self.now
            self.denied = self.denied.filter { self.isStanding($0) }
            self.withheld = self.withheld.flatMap { self.isStanding($0) ? $0 : nil }
        case .nothing: break
        }
    }

    private mutating func enter(_ next: DeclaredState) {
        self.state = next
        self.stay += 1
        self.began = self.now
        let groups = Set(next.times.compactMap(\.group))
        self.entries = self.entries.filter { groups.contains($0.key) }
        if groups.contains(UInt64(self.stay)) { self.entries[UInt64(self.stay)] = self.now }
        self.progress = RunProgress()
        self.withheld = nil
        self.denied = []
        self.lookouts.entered(UInt64(self.stay))
        self.lookAt { _ in true }
        self.phase = next.declared.run == nil ? .over : .running(since: self.now)
    }
}

/// Why a machine could not do what a trace asks for.
package enum SimulationError: Error, Hashable, CustomStringConvertible {
    case noRun(String)
    case noTimeout(String)
    /// The stay ended before the run had ended so often.
    case leftEarly(ends: Int, of: Int)
    /// The stay ended before the run did.
    case leftMeanwhile
    /// It moves by itself without end.
    case restless(Int)

    /// What to say about it.
    package var description: String {
        switch self {
        case .noRun(let state): "no command runs in \(state.quoted), so none can end"
        case .noTimeout(let state): "the run of \(state.quoted) has no timeout"
        case .leftEarly(let ends, let times):
            "the state was left after the command had ended \(ends) times, not \(times)"
        case .leftMeanwhile: "the state was left before the run ended"
        case .restless(let moves): "the machine makes more than \(moves) moves by itself"
        }
    }
}

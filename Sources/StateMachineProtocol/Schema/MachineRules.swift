package import StateMachineCore

/// What a machine does besides being set.
///
/// Pure: without clocks and without effects. Asked about a state, it answers by that state's own declaration.
package protocol MachineRules: Sendable {
    /// How many moves of its own the machine may make without any request.
    var breaker: MoveBreaker.Limit { get }

    /// The requested state as the declaration in force at a place has it.
    ///
    /// - Throws: `unknown-state` or `bad-data`: it does not have it.
    func restated(_ wanted: Value, at place: Place) throws(WireError) -> Value

    /// What becomes of the machine, by what it sees of others.
    ///
    /// - Parameters:
    ///   - stimulus: what happens.
    ///   - place: where the machine is.
    ///   - sight: what it sees of others.
    ///   - starts: from when on its stays count.
    /// - Returns: that, and why.
    /// - Throws: `unknown-event`, `bad-data`, also for what the state that it leads to cannot hold, `refused` by a case, or
    ///   `bad-request` for an update that gives a field twice.
    func decide(
        _ stimulus: Stimulus,
        at place: Place,
        seeing sight: Sight,
        _ starts: StayStarts?
    ) throws(WireError) -> Decision

    /// What an event may come to there, whatever its fields carry.
    ///
    /// - Throws: `unknown-event`.
    func outlook(
        on event: String,
        at place: Place,
        seeing sight: Sight,
        _ starts: StayStarts?
    ) throws(WireError) -> Outlook

    /// The times that the machine waits for at that place, in the file's order, the state's own before its groups'.
    func due(at place: Place) -> [Due]

    /// What a state knows of its times besides what the file says.
    func times(of value: Value) -> [KnownTime]

    /// A state that goes on in a stay, knowing what was known of its times.
    func knowing(_ times: [KnownTime], _ value: Value, in stay: UInt64) -> Value

    /// What has to be seen of others for a state to be entered.
    func requirements(of value: Value) -> [LinkCondition]

    /// The same by the declaration in force at a place, of a state of which only the name is known.
    func requirements(ofState name: String, at place: Place) -> [LinkCondition]

    /// What happens there when it comes to be seen of others, in the file's order.
    func lookouts(at place: Place) -> [LinkCondition]

    /// Who may do that at that place; nil: everybody, or there is nothing of that name.
    func right(to act: RestrictedAct, at place: Place) -> Right?
}

/// What happens to a machine, besides being set.
///
/// Names and members, and no numbers: another declaration may come into force before its turn.
package enum Stimulus: Sendable {
    case event(String, [JSONMember])
    case update(FieldWords)
    /// The time of that key has come.
    case time(String)
    /// The command of the stay has ended.
    case runEnded(RunEnd)
    /// The computer was booted.
    case boot
    /// That has come to be seen of another machine.
    case seen(LinkCondition)
}

/// What a machine does about something.
package struct Decision: Sendable {
    package let made: Move.Made
    /// Why, where the machine itself knows.
    package let cause: String?

    package init(_ made: Move.Made, cause: String? = nil) {
        self.made = made
        self.cause = cause
    }
}

/// What something may come to, as far as that is known without the values of an event's fields.
package struct Outlook: Sendable {
    package enum Way: Sendable {
        case made(Move.Made)
        /// It leads to that state with values of the event's; with `keep` the stay goes on.
        case leads(to: String, keep: Bool)
        case refused(WireError)
    }

    /// Each of the cases that may be taken; none: the event is not handled.
    package let ways: [Way]
    /// Why the others before them are passed over.
    package let unmet: [String]

    package init(_ ways: [Way], unmet: [String] = []) {
        self.ways = ways
        self.unmet = unmet
    }
}

/// A time that a machine waits for.
package struct Due: Hashable, Sendable {
    package enum Moment: Hashable, Sendable {
        case after(Duration)
        case at(WallTime)
    }

    /// Which of the state's times it is, whatever file declares it.
    package let key: String
    package let moment: Moment
    /// The change that entered the group whose time it is, and from which it counts; nil: it is the state's own, and
    /// counts from the stay's beginning.
    package let group: UInt64?
    /// Whether what is seen of other machines then decides what it leads to.
    package let isOpen: Bool

    package init(_ key: String, _ moment: Moment, group: UInt64? = nil, isOpen: Bool = false) {
        self.key = key
        self.moment = moment
        self.group = group
        self.isOpen = isOpen
    }

    /// From when on it counts.
    package func start(in stay: StayStart) -> StayStart {
        self.group.map { stay.start(ofGroupAt: $0) } ?? stay
    }

    /// When it is, by the wall clock.
    package func wall(in stay: StayStart) -> WallTime {
        switch self.moment {
        case .after(let delay): self.start(in: stay).wall(after: delay)
        case .at(let moment): moment
        }
    }

    /// The microseconds that are left until then; negative if it has passed.
    package func left(in stay: StayStart, at now: StayMoment) -> Int64 {
        switch self.moment {
        case .after(let delay):
            self.start(in: stay).moment.uptime &+ delay.wholeMicroseconds &- now.uptime
        case .at(let moment): moment.microseconds &- now.wall.microseconds
        }
    }
}

/// What a state knows of one of its times besides what the file says: found out when the state, or the group whose time
/// it is, was entered.
package struct KnownTime: Hashable, Sendable {
    /// As in ``Due``.
    package let key: String
    /// The change that entered the group; nil: it is the state's own.
    package let group: UInt64?
    /// What the field had then that says when it is; nil: the file says it.
    package let value: JSONValue?
    /// Whether it has come: it is not waited for again.
    package let hasPassed: Bool

    package init(_ key: String, group: UInt64?, value: JSONValue?, hasPassed: Bool = false) {
        self.key = key
        self.group = group
        self.value = value
        self.hasPassed = hasPassed
    }

    /// The same, once it has come.
    package var passed: KnownTime {
        KnownTime(self.key, group: self.group, value: self.value, hasPassed: true)
    }
}

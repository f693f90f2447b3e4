import TestSupport

@testable import StateMachineCore

/// A log that others write to as well, and whose answers are chance: committed, failed, overtaken or unsure, at once or
/// later.
///
/// What it was unsure of turns out to be durable or not when the next thing happens: the others come after it, or it
/// has never been. One that confirms may not have told of what others have done.
///
/// Guarded state: all of it, behind `guarded`.
final class ErraticLog: Recording {
    private struct Guarded {
        /// All that has happened, by whomever.
        var changes: [Change] = []
        /// What may have happened after that.
        var doubtful: [Change] = []
        /// The newest of what has happened, of which the machine has not been told.
        var untold: [Change] = []
        var group = Group.none
        /// How many groups have come.
        var count = 0
        /// How often it has told the machine of changes that were no answer.
        var tellings = 0
        /// The number of the one that is on its way.
        var telling: Int?
        /// Whether such changes may have crossed a group that does not know of them.
        var haveCrossed = false
        /// Whether all is committed from now on.
        var isReliable = false
        /// Whether it has said that it would commit nothing.
        var isObjecting = false
        /// What is recorded of each voter, and how often that was.
        var voters: [UInt64: (record: String, count: Int)] = [:]
        /// The changes of all groups, and when it was given them.
        var given: [(change: Change, at: UInt64)] = []
    }

    private enum Group {
        case none
        /// It has that one.
        case kept(Int)
        /// It has told what became of that one, or is about to.
        case answered(Int)
    }

    /// Whether others may move the machine while a thread is about to bring a group.
    private let mayCross: Bool
    private let start: StateMachineCore.Place
    private let dice: Dice
    private let errands: Errands
    private let moments: Moments
    private let complaints: Recorder<String>
    private let guarded = Lock(Guarded())

    init(
        from start: StateMachineCore.Place,
        _ dice: Dice,
        _ errands: Errands,
        _ moments: Moments,
        mayCross: Bool,
        confirming confirms: Bool,
        complaints: Recorder<String>
    ) {
        self.mayCross = mayCross
        self.confirms = confirms
        self.start = start
        self.dice = dice
        self.errands = errands
        self.moments = moments
        self.complaints = complaints
    }

    var isCurrent: Bool { false }
    let confirms: Bool

    func settle(done: @escaping @Sendable (_ failure: String?) -> Void) { done(nil) }

    /// A few, now and then.
    func room(for records: [Record]) -> Int {
        self.dice.isOne(in: 4) ? self.dice.roll(0..<8) : records.count
    }

    // MARK: - What has become of all

    /// All that has happened.
    var changes: [Change] { self.guarded.withLock { $0.changes } }

    /// What it was asked to commit, and when.
    var given: [(change: Change, at: UInt64)] { self.guarded.withLock { $0.given } }

    /// What is recorded of that voter, and how often that was; nil: nothing.
    func voter(_ number: UInt64) -> (record: String, count: Int)? {
        self.guarded.withLock { $0.voters[number] }
    }

    /// Says that it would commit nothing, until an errand says that it would.
    func object(to machine: Machine) {
        let isNew = self.guarded.withLock { !exchange(&$0.isObjecting, with: true) }
        guard isNew else { return }
        machine.logObjects(because: "it objects")
        self.errands.add {
            if !self.mayCross { self.guarded.withLock { $0.isObjecting = false } }
            machine.logObjects(because: nil)
            if self.mayCross { self.guarded.withLock { $0.isObjecting = false } }
        }
    }

    /// From now on it commits all that can be.
    func becomeReliable() { self.guarded.withLock { $0.isReliable = true } }

    // MARK: - Groups

    func record(_ records: [Record], done: @escaping @Sendable (Recorded) -> Void) {
        let now = self.moments.now
        let changes = records.compactMap(\.change)
        if records.isEmpty, !self.confirms {
            self.complaints.record("the log was given an empty group")
        }
        if zip(changes, changes.dropFirst()).contains(where: { !$1.follows($0.place) }) {
            self.complaints.record("the log was given a group whose changes do not follow")
        }
        let isAsked = !changes.isEmpty || records.isEmpty
        let number = self.guarded.withLock { guarded in
            // Elsewhere a thread may be about to bring it.
            if guarded.isObjecting, isAsked, !self.mayCross {
                self.complaints.record("the log was given a group that it objects to")
            }
            if case .kept = guarded.group {
                self.complaints.record("the log was given a group while it had one")
            }
            guarded.count += 1
            guarded.group = .kept(guarded.count)
            guarded.given += changes.map { ($0, now) }
            return guarded.count
        }
        let answer: @Sendable () -> Void = {
            done(self.guarded.withLock { self.decide(number, records, changes, &$0) })
            self.guarded.withLock {
                if case .answered(number) = $0.group { $0.group = .none }
            }
        }
        if self.dice.isOne(in: 3) { answer() } else { self.errands.add(answer) }
    }

    private func decide(
        _ number: Int,
        _ records: [Record],
        _ changes: [Change],
        _ guarded: inout Guarded
    ) -> Recorded {
        guarded.group = .answered(number)
        if !guarded.untold.isEmpty { return .overtaken(exchange(&guarded.untold, with: [])) }
        if let first = changes.first {
            guard first.follows(self.head(guarded)) else {
                guard guarded.haveCrossed else {
                    self.complaints.record("\(first.place.shown) does not follow on what is there")
                    return .failed("it does not follow")
                }
                return .overtaken([])
            }
            // It was evaluated where the machine is now.
            (guarded.telling, guarded.haveCrossed) = (nil, false)
            if !guarded.doubtful.isEmpty, self.dice.isOne(in: 2) {
                return .overtaken(self.happen(guarded.doubtful, &guarded))
            }
        }
        switch guarded.isReliable ? 0 : self.dice.roll(0..<20) {
        case 0..<11:
            if !changes.isEmpty { _ = self.happen(changes, &guarded) }
            for record in records { self.keep(record, &guarded) }
            return .committed
        case 11..<13: return .failed("the disk is full")
        case 13..<15 where !records.isEmpty:
            if !changes.isEmpty { guarded.doubtful = changes }
            return .unsure("no answer came")
        default:
            guard guarded.telling == nil else { return .overtaken([]) }
            return .overtaken(self.happen(self.others(0..<3, guarded), &guarded))
        }
    }

    private func keep(_ record: Record, _ guarded: inout Guarded) {
        guard let number = record.voter else { return }
        guarded.voters[number] = (record.text, (guarded.voters[number]?.count ?? 0) + 1)
    }

    // MARK: - What others do

    /// Has the machine adopt what others do, or what was in doubt, unless it has a group.
    func moveByOthers(_ machine: Machine) {
        if self.confirms, self.dice.isOne(in: 2) { return self.moveSilently() }
        if self.tellAll(machine) { return }
        let (changes, number) = self.guarded.withLock { guarded -> ([Change], Int) in
            guard case .none = guarded.group, guarded.telling == nil, !guarded.isReliable else {
                return ([], 0)
            }
            let isCertain = !guarded.doubtful.isEmpty && self.dice.isOne(in: 2)
            let changes = self.happen(
                isCertain ? guarded.doubtful : self.others(1..<4, guarded),
                &guarded
            )
            guarded.tellings += 1
            (guarded.telling, guarded.haveCrossed) = (guarded.tellings, self.mayCross)
            return (changes, guarded.tellings)
        }
        guard !changes.isEmpty else { return }
        machine.adopt(changes)
        self.guarded.withLock { if $0.telling == number { $0.telling = nil } }
    }

    /// Does what others do, and tells nobody.
    private func moveSilently() {
        self.guarded.withLock { guarded in
            guard guarded.telling == nil, !guarded.isReliable else { return }
            guarded.untold += self.happen(self.others(1..<3, guarded), &guarded)
        }
    }

    /// Has the machine adopt what it has not been told of, unless it has a group; returns whether there was anything.
    @discardableResult
    func tellAll(_ machine: Machine) -> Bool {
        let untold = self.guarded.withLock { guarded -> [Change] in
            guard case .none = guarded.group else { return [] }
            return exchange(&guarded.untold, with: [])
        }
        guard !untold.isEmpty else { return false }
        machine.adopt(untold)
        return true
    }

    /// Where the machine will be when it knows all.
    private func head(_ guarded: Guarded) -> StateMachineCore.Place {
        guarded.changes.last?.place ?? self.start
    }

    private func happen(_ changes: [Change], _ guarded: inout Guarded) -> [Change] {
        guarded.changes += changes
        if !changes.isEmpty { guarded.doubtful = [] }
        return changes
    }

    private func others(_ count: Range<Int>, _ guarded: Guarded) -> [Change] {
        var place = self.head(guarded)
        return (0..<self.dice.roll(count)).map { _ in
            let change = Move(to: place.value, cause: "others").change(
                from: place,
                to: TypedValue(self.dice.pick(of: Light.allCases) ?? .off),
                beginsStay: self.dice.isOne(in: 2)
            )
            place = change.place
            return change
        }
    }
}

extension Record {
    fileprivate var change: Change? { if case .change(let change) = self { change } else { nil } }

    /// What it says of a voter.
    var text: String {
        switch self {
        case .voter(let voter): voter.name ?? ""
        case .voterEnded: "ended"
        case .change, .stay, .times, .links, .declared: ""
        }
    }
}

extension Change {
    /// Whether it is the next after that place.
    func follows(_ place: StateMachineCore.Place) -> Bool {
        self.seq == place.seq + 1 && self.old.equals(place.value)
            && self.stay == (self.beginsStay ? self.seq : place.stay)
    }
}

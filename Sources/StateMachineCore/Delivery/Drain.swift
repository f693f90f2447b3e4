import CPlatform
import Dispatch
import Synchronization

/// Tells the members on one execution context what is in a log, and makes calls there: a cursor,
/// and one turn at a time, whatever the context.
///
/// It is driven by its context, which is asked for a turn when something has come; or, where jobs
/// run inline, by the thread that has appended. A machine's drains read its log; the drains of a
/// multicast delegate, and that of an event receptionist, have calls alone.
///
/// Guarded state:
/// - `isAwake`: set from the moment a turn is requested until one finds nothing more. Whoever woke
///   the drain owns it, or inline whoever has the `turn`; there is one owner at a time.
/// - `number`: the audience's own, behind its lock.
/// - `isCounted`: whether it counts among `sleepers`: while it sleeps, and is not retired.
/// - `cursor`, `missed`: the owner's own, unless there is a limit; then a setter that finds the
///   drain too far behind moves them, and both sides hold the lock of `shared`.
/// - `progress`: the cursor's position, or how many calls have passed, which a setter reads without the lock; without a
///   limit it is updated in steps, and only inline.
/// - `end`: the last entry that waits for this drain to pass it, and the last that it reads.
/// - `shared`: the members and the calls, behind its lock. Members change under the machine's lock
///   too, and `version` says that they did; `hasCalls` says whether there are calls or turns.
/// - `passed`: changed behind the lock of `shared`, and read without it.
/// - `heard`, `called`, `burstHearers`, `heardVersion`, `hearsNames`, `calledByName`, `owesBurstEnd`, `isDelivering`,
///   `isPutOff`: the owner's own.
///
/// An owner takes none of the machine's locks. `@unchecked Sendable`: the owner's fields are handed
/// from one owner to the next by `isAwake` or `turn`, whose operations order them.
package final class Drain: @unchecked Sendable {
    /// Something to do on the context.
    struct Call: Sendable {
        /// Its number, where losses are counted from.
        var seq: UInt64 = 0
        /// What was lost before it, on the way here.
        var losses = Losses()
        /// Called with what was lost before it; not with anything if nobody may be called any more,
        /// since there was no room or the context has ended, and only those who wait are to be told.
        let make: @Sendable (_ losses: Losses?) -> Void
    }

    /// How many were lost, and the number of the first.
    struct Losses: Sendable {
        private(set) var count = 0
        private(set) var first: UInt64 = 0

        mutating func add(_ count: Int, from first: UInt64) {
            guard count > 0 else { return }
            if self.count == 0 { self.first = first }
            self.count += count
        }

        /// Those, and then these.
        func following(_ others: Losses) -> Losses {
            var all = others
            all.add(self.count, from: self.first)
            return all
        }
    }

    /// `mayCall` is false if the context has ended, and only those who wait are to be told.
    typealias Turn = @Sendable (_ mayCall: Bool) -> Void

    private struct Shared {
        var members = DrainMembers()
        var calls: BoundedBuffer<Call>
        /// What was dropped since the last call was taken.
        var losses = Losses()
        /// What is to run once everything up to a position has been delivered.
        var turns = BoundedBuffer<(after: UInt64, make: Turn)>(capacity: .max)
    }

    let context: any ExecutionContext
    /// The context's, read once.
    let identity: ObjectIdentifier
    /// Its number among the drains of its ``Audience``, ascending in their order; behind that one's lock.
    var number: UInt64 = 0
    /// Whether the thread that wakes it makes the calls.
    let isInline: Bool
    /// The context, if it may come to an end.
    private let refusing: NotificationThread?
    private let lingers: Bool
    /// How many entries it may fall behind; nil: any number.
    private let limit: UInt64?

    private let isAwake = Atomic<Bool>(false)
    private let sleepers: Sleepers
    private let isCounted = Atomic<Bool>(true)
    /// Whether setters look at it even if it is awake.
    private let isAlwaysCounted: Bool
    private let version = Atomic<Int>(0)
    private let shared: Lock<Shared>
    private let hasCalls = Atomic<Bool>(false)
    /// How many calls have been taken or dropped.
    private let passed = Atomic<UInt64>(0)
    private let progress: Atomic<UInt64>
    private let end = Atomic<UInt64>(.max)
    private let turn: InlineTurn?

    private var cursor: LogEntry
    private var missed: Missed?
    private var heard: [Member] = []
    /// Those of them that hear of changes: counting references for each would take longer than some
    /// delegates do.
    private var called: [Unmanaged<Member>] = []
    /// Those that hear of the end of a burst.
    private var burstHearers: [Member] = []
    private var heardVersion = 0
    private var hearsNames = false
    /// Those of ``called`` that hear of a state of that name; nil: not looked up yet.
    private var calledByName: [String: [Unmanaged<Member>]] = [:]
    /// Whether something was delivered whose burst end has not been reported yet.
    private var owesBurstEnd = false
    private var isDelivering = false
    /// Whether a job of the context came in the middle of a delivery, and is to come again after it.
    private var isPutOff = false

    /// Entries that one turn delivers before it yields to the context's other work.
    ///
    /// 256: a burst of a busy machine, and well below a millisecond of work. Not tuned.
    private static var share: Int { 256 }

    /// Names for which it is remembered who hears of them.
    ///
    /// 256: more than machines have states. Not tuned.
    private static var nameLimit: Int { 256 }

    /// Undelivered entries, inline, beyond which a setter waits for its turn.
    ///
    /// 512: two turns' worth, since `progress` lags by one; some 80 KiB plus the states. Not tuned.
    private static var untoldLimit: UInt64 { 512 }

    /// - Parameters:
    ///   - context: where it calls.
    ///   - identity: the context's.
    ///   - entry: the last of the log that it does not read.
    ///   - limit: how many entries it may fall behind; nil: any number.
    ///   - callLimit: how many calls may wait; beyond that the oldest is dropped.
    ///   - sleepers: where it counts while it sleeps.
    init(
        on context: any ExecutionContext,
        _ identity: ObjectIdentifier,
        after entry: LogEntry = LogEntry(.beginning),
        limit: Int? = nil,
        callLimit: Int = .max,
        among sleepers: Sleepers = Sleepers()
    ) {
        self.context = context
        self.identity = identity
        self.isInline = context is ImmediateContext
        self.refusing = context as? NotificationThread
        self.lingers = context is DispatchQueue
        self.sleepers = sleepers
        self.isAlwaysCounted = self.isInline || limit != nil
        sleepers.count.add(1, ordering: .sequentiallyConsistent)
        self.limit = limit.map { UInt64(clamping: $0) }
        self.shared = Lock(Shared(calls: BoundedBuffer(capacity: callLimit)))
        self.turn = self.isInline ? InlineTurn() : nil
        self.cursor = entry
        self.progress = Atomic(entry.position)
    }

    // MARK: - Being driven

    /// Called after something was appended, outside every lock.
    ///
    /// - Returns: false if it was awake already.
    @discardableResult
    func wake() -> Bool {
        // A load first: most drains of a busy machine are awake already, and loads do not contend.
        guard !self.isAwake.load(ordering: .sequentiallyConsistent), self.rouse() else {
            return false
        }
        if let turn = self.turn { self.runHere(in: turn) } else { self.schedule() }
        return true
    }

    /// As ``wake()``, by the thread that has set the state.
    ///
    /// Inline, a setter that finds another thread delivering goes on, unless that thread wants to hand over
    /// or cannot keep up; then it waits its turn.
    ///
    /// - Parameter position: of the entry that it has appended.
    func wakeHere(for position: UInt64) {
        guard !self.wake(), let turn = self.turn else { return }
        self.takeOver(turn, after: position)
    }

    /// The same, by the thread that has appended a call.
    func wakeForCall() {
        guard !self.wake(), let turn = self.turn else { return }
        self.takeOver(turn, after: self.newestCall)
    }

    private func takeOver(_ turn: InlineTurn, after position: UInt64) {
        let told = self.progress.load(ordering: .relaxed)
        let isTooMuch = position > told && position - told > Self.untoldLimit
        guard isTooMuch || turn.isOffered, !InlineTelling.isHere else { return }
        self.runHere(in: turn)
    }

    private func rouse() -> Bool {
        let isOurs = !self.isAwake.exchange(true, ordering: .sequentiallyConsistent)
        if isOurs, !self.isAlwaysCounted { self.count(asleep: false) }
        return isOurs
    }

    private func count(asleep isAsleep: Bool) {
        guard self.isCounted.exchange(isAsleep, ordering: .sequentiallyConsistent) != isAsleep
        else { return }
        self.sleepers.count.add(isAsleep ? 1 : -1, ordering: .sequentiallyConsistent)
    }

    private func schedule() {
        // Nobody is left to be told, and the context may have ended.
        guard self.end.load(ordering: .sequentiallyConsistent) == .max else {
            return self.abandon()
        }
        guard let refusing = self.refusing else { return self.context.enqueue { self.run() } }
        if !refusing.accepts({ self.run() }) { self.abandon() }
    }

    private func run() {
        // `catchUp()` may deliver something that runs the context's other jobs: this one comes
        // after it, or such a loop within the loop would find it again and again.
        guard !self.isDelivering else {
            self.isPutOff = true
            return
        }
        while true {
            let count = self.deliver(atMost: Self.share)
            // One that found several entries is on a busy machine: it looks once more at its next
            // turn before it sleeps, so that the wake-up costs the context and not each setter.
            if count >= Self.share || count > 1 && self.lingers { return self.schedule() }
            guard self.fallAsleep() else { return }
        }
    }

    /// Delivers on the calling thread when it is its turn, until all is delivered or another takes
    /// over.
    private func runHere(in turn: InlineTurn) {
        turn.take()
        // Another may have delivered everything meanwhile.
        guard self.isAwake.load(ordering: .sequentiallyConsistent) else { return turn.giveBack() }
        let isOutermost = InlineTelling.begin()
        defer { InlineTelling.end(outermost: isOutermost) }
        var share = Self.share
        while true {
            if self.limit == nil {
                self.progress.store(self.delivered, ordering: .relaxed)
            }
            if self.deliver(atMost: share) >= share {
                if turn.isHandedOver() { return }
                // A thread that takes over waits for one call only.
                share = 1
            } else if !self.fallAsleep() {
                return turn.giveBack()
            }
        }
    }

    /// The position of what was delivered last; a drain reads a log or makes calls, never both: one of the two is 0.
    private var delivered: UInt64 {
        self.cursor.position + self.passed.load(ordering: .relaxed)
    }

    /// Ends the turn, and returns whether it has to go on after all.
    private func fallAsleep() -> Bool {
        // Kept before it sleeps: after that the cursor is the next owner's.
        let last = self.limit == nil ? self.cursor : self.shared.withLock { _ in self.cursor }
        // Counted before it sleeps and before the second look: a setter that finds nobody asleep has
        // appended before that look.
        if !self.isAlwaysCounted { self.count(asleep: true) }
        self.isAwake.store(false, ordering: .sequentiallyConsistent)
        if self.end.load(ordering: .sequentiallyConsistent) != .max { self.count(asleep: false) }
        // What a setter skipped meanwhile also comes after `last`.
        let hasMore =
            self.next(after: last) != nil || self.hasCalls.load(ordering: .sequentiallyConsistent)
        return hasMore && self.rouse()
    }

    /// Delivers what has been committed so far, now.
    ///
    /// Only on its own context, which has to be serial; a no-op from inside a delivery.
    package func catchUp() {
        precondition(
            self.context.isCurrent == true,
            "catchUp() must be called on its execution context"
        )
        guard !self.isDelivering else { return }
        _ = self.deliver(atMost: .max)
        if exchange(&self.isPutOff, with: false) { self.schedule() }
    }

    /// As ``catchUp()``, and then spins for a moment for what else comes, which need not wake the context.
    ///
    /// - Parameters:
    ///   - spin: how long.
    ///   - isWaiting: whether something expected has yet to come.
    package func linger(_ spin: inout AdaptiveSpin, while isWaiting: () -> Bool) {
        guard !self.isDelivering else { return }
        let isOurs = self.rouse()
        spin.wait {
            self.catchUp()
            return !isWaiting()
        }
        if isOurs, self.fallAsleep() { self.schedule() }
    }

    /// Passes everything without telling anyone, so that nobody waits for it: the context has
    /// ended, or the drain has no members.
    ///
    /// Only for its owner.
    private func abandon() {
        repeat {
            while self.withNextEntry(self.passUnheard) {}
            while let call = self.takeCall() { call.make(nil) }
            while let turn = self.takeTurn() { turn(false) }
        } while self.fallAsleep()
    }

    // MARK: - Taking

    /// The next entry; nil if there is none, or if the drain was retired before it.
    private func next(after entry: LogEntry) -> LogEntry? {
        entry.position < self.end.load(ordering: .sequentiallyConsistent) ? entry.next : nil
    }

    /// Moves the cursor on, without a limit; false if nothing follows.
    private func advance() -> Bool {
        guard self.cursor.position < self.end.load(ordering: .sequentiallyConsistent),
            // The link's reference, where nobody else comes along it.
            let entry = isKnownUniquelyReferenced(&self.cursor)
                ? self.cursor.takeNext() : self.cursor.next
        else { return false }
        // The passed entry is released after the cursor has moved: its state may go with it,
        // and that may run a client's code.
        let passed = exchange(&self.cursor, with: entry)
        withExtendedLifetime(passed) {}
        return true
    }

    /// Moves the cursor on, and returns what was passed, without what follows it: with a limit a setter may move the
    /// cursor while that is delivered.
    private func takeAlone() -> LogEntry? {
        let (taken, _) = self.shared.withLock { _ -> (LogEntry?, passed: LogEntry) in
            let passed = self.cursor
            if let missed = self.missed.take() { return (MissedEntry(missed), passed) }
            guard let entry = self.next(after: passed) else { return (nil, passed) }
            self.cursor = entry
            self.progress.store(entry.position, ordering: .relaxed)
            return (entry.alone, passed)
        }
        return taken
    }

    /// Calls `body` with the next entry; returns whether there was one.
    private func withNextEntry(_ body: (LogEntry) -> Void) -> Bool {
        guard self.limit == nil else {
            guard let entry = self.takeAlone() else { return false }
            body(entry)
            return true
        }
        guard self.advance() else { return false }
        // Not held a second time: the cursor, which nobody else moves, stays there until the delivery is over.
        Unmanaged.passUnretained(self.cursor)._withUnsafeGuaranteedRef(body)
        return true
    }

    private func takeCall() -> Call? {
        guard self.hasCalls.load(ordering: .sequentiallyConsistent) else { return nil }
        return self.shared.withLock { shared in
            guard var call = shared.calls.popFirst() else { return nil }
            call.losses = call.losses.following(exchange(&shared.losses, with: Losses()))
            self.passed.add(1, ordering: .relaxed)
            self.noteCalls(of: &shared)
            return call
        }
    }

    /// What is due between the entries and calls.
    private func takeTurn() -> Turn? {
        guard self.hasCalls.load(ordering: .sequentiallyConsistent) else { return nil }
        return self.shared.withLock { shared in
            // A drain reads a log or makes calls, never both: one of the two is 0. A turn for a later position is due
            // once nothing is left to deliver.
            let position = self.delivered
            guard let first = shared.turns.first,
                first.after <= position
                    || shared.calls.isEmpty && self.next(after: self.cursor) == nil
            else { return nil }
            _ = shared.turns.popFirst()
            self.noteCalls(of: &shared)
            return first.make
        }
    }

    private func noteCalls(of shared: inout Shared) {
        // Gives back the room of a burst.
        if shared.calls.isEmpty { _ = shared.calls.takeAll() }
        if shared.turns.isEmpty { _ = shared.turns.takeAll() }
        let hasCalls = !shared.calls.isEmpty || !shared.turns.isEmpty
        self.hasCalls.store(hasCalls, ordering: .sequentiallyConsistent)
    }

    // MARK: - Delivering

    /// Delivers what was appended.
    ///
    /// - Returns: how much was delivered.
    private func deliver(atMost limit: Int) -> Int {
        precondition(!self.isDelivering, "a drain was started inside one of its own deliveries")
        self.isDelivering = true
        defer { self.isDelivering = false }
        var (count, turns) = (0, 0)
        var hasGone = false
        while count < limit, self.withNextEntry({ self.tell($0, &hasGone) }) { count += 1 }
        while count < limit, let call = self.takeCall() {
            count += 1
            call.make(call.losses)
        }
        if count > 0 { self.owesBurstEnd = true }
        if count < limit { self.endBurst() }
        while turns < limit, let turn = self.takeTurn() {
            turns += 1
            self.endBurst()
            turn(true)
        }
        if hasGone { for member in self.allMembers where member.isGone { member.end() } }
        return max(count, turns)
    }

    /// Tells the members of an entry; `hasGone` is set if one of those who would hear of a change is gone.
    private func tell(_ entry: LogEntry, _ hasGone: inout Bool) {
        self.refreshIfChanged()
        var isHeard = false
        switch entry.kind {
        case .beginning: break
        case .change:
            self.tell(unsafeDowncast(entry, to: ChangeEntry.self), &isHeard, &hasGone)
        case .question:
            let question = unsafeDowncast(entry, to: QuestionEntry.self)
            for member in self.heard where member.since < entry.position {
                member.put(question)
            }
        case .missed:
            let missed = unsafeDowncast(entry, to: MissedEntry.self).missed
            for member in self.heard { member.hearMissed(missed) }
        }
        entry.deliveryCount?.pass(hearing: isHeard)
    }

    private func tell(_ entry: ChangeEntry, _ isHeard: inout Bool, _ hasGone: inout Bool) {
        let called = self.called(by: entry.change)
        let position = entry.position
        // By index: an iterator counts one more reference.
        for index in called.indices {
            called[index]._withUnsafeGuaranteedRef { member in
                guard member.since < position else { return }
                if member.hear(entry) {
                    isHeard = true
                } else if member.isGone {
                    hasGone = true
                }
            }
        }
    }

    /// Those who hear of that change.
    ///
    /// By its state's name if somebody asks for certain states. Who asks for which is looked up once for each name,
    /// since comparing names for each member would cost more than its call.
    private func called(by change: Change) -> [Unmanaged<Member>] {
        guard self.hearsNames else { return self.called }
        let name = change.new.name
        if let called = self.calledByName[name] { return called }
        let called = self.called.filter { $0._withUnsafeGuaranteedRef { $0.wants(name) } }
        // A state may make up its names.
        if self.calledByName.count < Self.nameLimit { self.calledByName[name] = called }
        return called
    }

    private func endBurst() {
        guard exchange(&self.owesBurstEnd, with: false) else { return }
        self.refreshIfChanged()
        for member in self.burstHearers { member.endBurst() }
    }

    private func refreshIfChanged() {
        if self.version.load(ordering: .sequentiallyConsistent) != self.heardVersion {
            self.refresh()
        }
    }

    private func refresh() {
        self.heardVersion = self.version.load(ordering: .sequentiallyConsistent)
        // Members that have left are released after the fields have changed.
        let left = (self.heard, self.burstHearers)
        self.heard = self.allMembers
        self.called = self.heard.compactMap { $0.hearsChanges ? .passUnretained($0) : nil }
        self.burstHearers = self.heard.filter(\.hearsBurstEnds)
        self.hearsNames = self.heard.contains { $0.names != nil }
        self.calledByName = [:]
        withExtendedLifetime(left) {}
    }

    /// Passes an entry that no member here will hear: its voters are waited for no longer.
    private func passUnheard(_ entry: LogEntry) {
        if entry.kind == .question {
            let question = unsafeDowncast(entry, to: QuestionEntry.self)
            for member in self.allMembers.lazy.map(\.number)
            where question.asked.contains(member) { question.ballot.release(member) }
        }
        entry.deliveryCount?.pass(hearing: false)
    }

    // MARK: - Calls

    /// Has the call made in its turn, once the drain is woken: under the lock that orders the calls.
    ///
    /// - Returns: the call that was dropped for this one, to be made under no lock.
    func append(_ call: Call) -> Call? {
        self.shared.withLock { shared in
            self.hasCalls.store(true, ordering: .sequentiallyConsistent)
            guard let dropped = shared.calls.append(call) else { return nil }
            self.passed.add(1, ordering: .relaxed)
            shared.losses = dropped.losses.following(shared.losses)
            shared.losses.add(1, from: dropped.seq)
            return dropped
        }
    }

    /// How many calls have come so far.
    var newestCall: UInt64 {
        self.shared.withLock { self.passed.load(ordering: .relaxed) + UInt64($0.calls.count) }
    }

    /// Has `turn` run when all entries or calls up to that position have been delivered.
    func post(after position: UInt64 = 0, _ turn: @escaping Turn) {
        self.shared.withLock { shared in
            self.hasCalls.store(true, ordering: .sequentiallyConsistent)
            _ = shared.turns.append((position, turn))
        }
        self.wake()
    }

    /// Has the count passed when all entries up to that position have been delivered.
    func post(_ count: DeliveryCount, after position: UInt64) {
        self.post(after: position) { [unowned self] mayCall in
            if mayCall {
                self.refreshIfChanged()
                for member in self.heard { member.call { member.reach(count) } }
            }
            count.pass(hearing: false)
        }
    }

    // MARK: - What a machine does with it

    /// Called under the machine's lock, so that a turn that reads a later entry sees the member.
    func add(_ member: Member) {
        self.shared.withLock { $0.members.add(member) }
        self.version.add(1, ordering: .sequentiallyConsistent)
    }

    /// Called under the machine's lock, by a caller that holds the member; returns whether the
    /// drain is empty now.
    func remove(_ member: Member) -> Bool {
        let (wasThere, isEmpty) = self.shared.withLock {
            ($0.members.remove(member), $0.members.isEmpty)
        }
        if wasThere { self.version.add(1, ordering: .sequentiallyConsistent) }
        return wasThere && isEmpty
    }

    /// Called under the machine's lock: the drain does not count for entries after this one.
    func retire(after position: UInt64) {
        self.end.store(position, ordering: .sequentiallyConsistent)
    }

    /// Called after ``retire(after:)``, under no lock.
    func leave() {
        self.count(asleep: false)
        guard self.rouse() else { return }
        if let turn = self.turn { self.runHere(in: turn) } else { self.abandon() }
    }

    /// In order of registration; read under no lock, since a member that leaves meanwhile may be
    /// released with the array.
    var allMembers: [Member] { self.shared.withLock { $0.members.all } }

    func has(_ member: Member) -> Bool { self.shared.withLock { $0.members.has(member) } }

    /// The member that represents that object, if it has not been cancelled.
    func member(representing object: AnyObject) -> Member? {
        self.shared.withLock { $0.members.member(representing: object) }
    }

    /// Moves the cursor to the newest change if it is too far behind, so that an idle context keeps
    /// no memory.
    ///
    /// What it skips is reported as missed. Called by a setter, outside every lock.
    ///
    /// - Parameter newest: the position of the newest entry.
    func skip(ifTooFarBehind newest: UInt64) {
        guard let limit else { return }
        let progress = self.progress.load(ordering: .relaxed)
        guard newest > progress, newest - progress > limit else { return }
        // What is skipped is released after the lock, and what was missed before.
        let (start, last, _) = self.shared.withLock { _ -> (LogEntry, LogEntry, Missed?) in
            let (start, before) = (self.cursor, self.missed)
            var entry = start
            while let next = self.next(after: entry) {
                entry = next
                // At a question, the next change will do.
                guard next.kind == .change else { continue }
                let change = unsafeDowncast(next, to: ChangeEntry.self).change
                self.missed = Missed(first: self.missed?.first ?? change.seq, newest: change)
                self.cursor = next
            }
            self.progress.store(self.cursor.position, ordering: .relaxed)
            return (start, self.cursor, before)
        }
        var passed = start
        while passed !== last, let next = passed.next {
            self.passUnheard(next)
            passed = next
        }
    }
}

/// How many of a machine's drains a setter has to look at: those that sleep, run inline, or have a
/// limit.
///
/// So on a busy machine it reads one number instead. Never too low.
final class Sleepers: Sendable {
    fileprivate let count = Atomic<Int>(0)

    var isEmpty: Bool { self.count.load(ordering: .sequentiallyConsistent) == 0 }
}

/// The members of a drain, in order of registration; adding and removing cost the same however many
/// there are.
///
/// Part of what a drain's lock guards. Releases no member: whoever removes one holds it.
private struct DrainMembers: Sendable {
    private var members: [ObjectIdentifier: Member] = [:]
    private var objects: [ObjectIdentifier: Member] = [:]
    /// All of them, sorted; nil if that has changed.
    private var sorted: [Member]?

    var isEmpty: Bool { self.members.isEmpty }

    var all: [Member] {
        mutating get {
            if let sorted { return sorted }
            let all = self.members.values.sorted { $0.number < $1.number }
            self.sorted = all
            return all
        }
    }

    func has(_ member: Member) -> Bool { self.members[ObjectIdentifier(member)] === member }

    func member(representing object: AnyObject) -> Member? {
        guard
            let member = self.objects[ObjectIdentifier(object)],
            member.represents(object), !member.isCancelled
        else { return nil }
        return member
    }

    mutating func add(_ member: Member) {
        self.sorted = nil
        self.members[ObjectIdentifier(member)] = member
        if let object = member.object { self.objects[object] = member }
    }

    mutating func remove(_ member: Member) -> Bool {
        guard self.members.removeValue(forKey: ObjectIdentifier(member)) != nil else {
            return false
        }
        self.sorted = nil
        if let object = member.object, self.objects[object] === member {
            self.objects[object] = nil
        }
        return true
    }
}

/// Who delivers inline when several threads set: one at a time, each for a while.
///
/// A thread that has delivered its share offers the turn, and the next setter takes it over. A
/// setter that finds too much undelivered waits for a turn too, so that the backlog stays bounded.
private final class InlineTurn: Sendable {
    private let free = DispatchSemaphore(value: 0)
    private let waiting = Atomic<Int>(0)
    private let offered = Atomic<Bool>(false)

    // Not with a value of 1: a semaphore may not end with less than it began with.
    init() { self.free.signal() }

    var isOffered: Bool { self.offered.load(ordering: .relaxed) }

    func take() {
        self.waiting.add(1, ordering: .sequentiallyConsistent)
        self.free.wait()
        self.waiting.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Gives the turn to a thread that waits; if none does, it is offered to the next setter.
    ///
    /// - Returns: whether another thread has it now.
    func isHandedOver() -> Bool {
        let areWaiting = self.waiting.load(ordering: .sequentiallyConsistent) > 0
        self.offered.store(!areWaiting, ordering: .relaxed)
        if areWaiting { self.free.signal() }
        return areWaiting
    }

    /// Everything has been delivered.
    func giveBack() {
        self.offered.store(false, ordering: .relaxed)
        self.free.signal()
    }
}

/// Whether the calling thread is delivering inline, on whatever machine.
///
/// What its callbacks set then waits for no turn: two machines whose delegates set each other would
/// deadlock.
enum InlineTelling {
    /// Not nil on a thread that is.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key, nil)
        precondition(error == 0, "pthread_key_create failed: error \(error)")
        return key
    }()

    static var isHere: Bool { pthread_getspecific(self.key) != nil }

    /// Returns whether this is the outermost call.
    static func begin() -> Bool {
        guard !self.isHere else { return false }
        pthread_setspecific(self.key, UnsafeRawPointer(bitPattern: 1))
        return true
    }

    static func end(outermost: Bool) {
        if outermost { pthread_setspecific(self.key, nil) }
    }
}

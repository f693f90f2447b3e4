import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The other machines that a machine sees, and what it makes of them: what is seen comes in order, and what a state looks for
/// happens once, each time that it comes to match.
///
/// `@unchecked Sendable`: it belongs to the event loop.
final class Links: @unchecked Sendable {
    /// Something that was seen, and whom to tell when there is room for more.
    private struct Arrival {
        let look: Look
        let state: NamedState?
        let cursor: String?
        let taken: CheckedContinuation<Void, Never>?
    }

    /// How many things that were seen may wait for the machine to deal with those before them.
    ///
    /// 64: what is read at a time; beyond that, it waits where it comes from. Not tuned.
    private static let room = 64

    /// How long after a change of what is kept it is recorded, unless it goes with a change of the machine.
    ///
    /// 1 s: a crash within it repeats nothing, as what was dealt with since is seen again; only of a machine that forgets
    /// its past something may be missed.
    private static let noteDelay = TimeAmount.seconds(1)

    /// After how much that was dealt with it is noted how far that was, though nothing else has changed.
    ///
    /// 1000: what a crash has seen again, a quarter of what the other's daemon keeps in memory.
    private static let noteInterval = 1000

    let sight: SightBox
    private unowned let server: StateServer
    private let watcher: any LinkWatcher
    private let cursors: LinkCursors
    private var looks: [Look] = []
    /// All that follow or have followed one.
    private(set) var tasks: [Task<Void, Never>] = []
    private var arrivals = CircularBuffer<Arrival>()
    /// What the present state looks for.
    private var keys: [LinkCondition] = []
    private var watch: LinkWatch
    /// Whether it follows them, and may move the machine.
    private var isWatching = false
    private var isMoving = false
    private var isActing = false
    /// Whether something happened in vain for what is seen of a link.
    private var isDeniedByLinks = false
    /// Whether what happened in vain is to be tried again, once all that was seen is dealt with.
    private var isToRetry = false
    private var pause = GrowingPause()
    private var retry: Scheduled<Void>?
    private var note: Scheduled<Void>?
    /// How much was dealt with since the last note.
    private var unnoted = 0
    /// Called with a link that can be seen again or, with why, cannot be.
    private var tell: (Link, String?) -> Void = { _, _ in }

    init(
        of server: StateServer,
        seeing sight: SightBox,
        by watcher: any LinkWatcher,
        after cursors: LinkCursors?
    ) {
        self.server = server
        self.sight = sight
        self.watcher = watcher
        self.cursors = cursors ?? LinkCursors()
        self.watch = LinkWatch(stay: server.snapshot.stay, after: cursors?.left)
        self.declare(server.schema, at: server.snapshot)
    }

    // MARK: - Beginning and end

    /// Begins to follow them; `tell` is called when one cannot be seen, and with nil when it can be again.
    func begin(telling tell: @escaping (Link, String?) -> Void) {
        self.tell = tell
        self.isWatching = true
        for look in self.looks { self.follow(look) }
        self.noteSoon()
    }

    /// Begins to move the machine.
    func beginMoving() {
        self.isMoving = true
        self.act()
    }

    /// Ends it: from here on nothing is dealt with, so that the next run sees it again; ``tasks`` end soon.
    func stop() {
        guard self.isWatching else { return }
        (self.isWatching, self.isMoving) = (false, false)
        self.noteNow()
        self.retry?.cancel()
        for look in self.looks { look.task?.cancel() }
        self.looks = []
        for arrival in exchange(&self.arrivals, with: []) { arrival.taken?.resume() }
    }

    private func follow(_ look: Look) {
        let (link, watcher) = (look.link, self.watcher)
        let cursor = self.cursors[link.name]
        let loop = self.server.loop
        // It keeps this until ``stop()``.
        let task = Task(executorPreference: QueueExecutor.shared) {
            await watcher.watch(link, since: cursor) { news in
                await withCheckedContinuation { taken in
                    loop.execute { self.came(news, of: link, taken) }
                }
            }
        }
        look.task = task
        self.tasks.removeAll(where: \.isCancelled)
        self.tasks.append(task)
    }

    // MARK: - What declares the machine

    /// Another declaration may come into force at any moment, or, with nil, does not.
    func expect(_ schema: Schema?) {
        for look in self.looks { self.resolve(look, also: schema?.linkConditions ?? []) }
    }

    /// Another declaration is in force from there on.
    func redeclared(_ schema: Schema, at place: Place) {
        self.declare(schema, at: place)
        if self.watch.stay != place.stay { self.watch.entered(place.stay) }
        self.lookAgain()
        self.noteSoon()
        self.act()
    }

    private func declare(_ schema: Schema, at place: Place) {
        self.keys = schema.rules?.lookouts(at: place) ?? []
        let kept = self.looks.filter { schema.links.contains($0.link) }
        let dropped = self.looks.filter { !schema.links.contains($0.link) }
        for look in dropped {
            look.task?.cancel()
            self.cursors.note(nil, of: look.link.name)
        }
        // What was seen of a machine says nothing of another that has its name now.
        let names = Set(dropped.map(\.link.name))
        self.watch.redeclared(self.keys.filter { !names.contains($0.link) }.map(\.written))
        self.looks = schema.links.map { link in
            kept.first { $0.link == link } ?? self.made(link)
        }
        self.sight.change { $0.keep(Set(kept.map(\.link.name))) }
        for look in self.looks { self.resolve(look) }
        self.show()
    }

    private func made(_ link: Link) -> Look {
        let look = Look(link)
        if self.isWatching { self.follow(look) }
        return look
    }

    /// Reads all that is asked of one by its own types, and looks what holds.
    private func resolve(_ look: Look, also more: Set<LinkCondition> = []) {
        let asked = self.server.schema.linkConditions.union(more)
            .filter { $0.link == look.link.name }
        look.resolve(asked)
        self.see(look)
    }

    // MARK: - What is seen

    private func came(
        _ news: LinkNews,
        of link: Link,
        _ taken: CheckedContinuation<Void, Never>
    ) {
        guard self.isWatching, let look = self.looks.first(where: { $0.link == link }) else {
            return taken.resume()
        }
        switch news {
        case .described(let schema):
            look.schema = schema
            self.resolve(look)
            self.lookAgain()
            self.show()
            taken.resume()
        case .state(let state, let cursor):
            if look.why != nil { self.found(look) }
            self.arrive(look, state, cursor, taken)
        case .unseen(let why):
            if look.why != why { self.lost(look, why) }
            self.arrive(look, nil, nil, taken)
        }
        // What is due by time and was denied for what was seen is tried again first: it was there before.
        self.server.loop.assumeIsolated().execute { self.act() }
    }

    private func arrive(
        _ look: Look,
        _ state: NamedState?,
        _ cursor: String?,
        _ taken: CheckedContinuation<Void, Never>
    ) {
        let hasRoom = self.arrivals.count < Self.room
        self.arrivals.append(
            Arrival(look: look, state: state, cursor: cursor, taken: hasRoom ? nil : taken)
        )
        if hasRoom { taken.resume() }
        look.newest = state
        // A stay that begins because of it is to find it among what was seen.
        self.see(look)
    }

    private func found(_ look: Look) {
        if look.found() { self.tell(look.link, nil) }
        self.show()
    }

    private func lost(_ look: Look, _ why: String) {
        look.why = why
        self.show()
        guard let deadline = look.nextComplaint else { return self.complain(of: look) }
        // The last word is to be true.
        self.server.loop.assumeIsolated().scheduleTask(deadline: deadline) { [weak look] in
            if self.isWatching, let look { self.complain(of: look) }
        }
    }

    private func complain(of look: Look) {
        if let why = look.complain() { self.tell(look.link, why) }
    }

    /// Looks what holds of one as it is now; what was denied for it is tried again.
    private func see(_ look: Look) {
        var hasChanged = false
        self.sight.change { sight in
            let before = sight.links[look.link.name]?.holding
            sight.note(look.link.name, is: look.newest, of: look.conditions)
            hasChanged = before != sight.links[look.link.name]?.holding
        }
        guard hasChanged, self.isMoving else { return }
        self.server.stays?.linksChanged()
        if self.isDeniedByLinks { self.tryAgain() }
    }

    // MARK: - What happens

    /// A stay has begun with that change, whoever made it: what holds by then happens once.
    func entered(_ place: Place, by change: Change) {
        guard !self.looks.isEmpty else { return }
        // What comes of something seen has its turn before what was seen next; all else happens now, and that was before.
        let cause = change.setter == nil ? change.cause : nil
        if cause == nil || cause != self.watch.trying?.key {
            while let arrival = self.arrivals.popFirst() { self.note(arrival) }
        }
        self.keys = self.server.states.rules?.lookouts(at: place) ?? []
        self.watch.entered(place.stay)
        self.isDeniedByLinks = false
        // A new boot has begun it: what came while the machine was away was before that.
        if !self.isWatching {
            for look in self.looks { self.cursors.note(nil, of: look.link.name) }
        }
        guard !self.keys.isEmpty else { return }
        self.lookAgain()
        self.noteSoon()
    }

    /// Looks for what the present state looks for, as far as what was seen has been dealt with.
    private func lookAgain() {
        // In the file's order, whichever machine they are about.
        let seen = self.keys.filter { key in self.look(at: key.link)?.taken != nil }
        self.saw(seen)
    }

    private func look(at name: String) -> Look? { self.looks.first { $0.link.name == name } }

    private func saw(_ keys: [LinkCondition]) {
        let holding = keys.filter { self.look(at: $0.link)?.hasMet($0) == true }.map(\.written)
        if self.watch.saw(keys.map(\.written), { holding.contains($0) }) { self.noteSoon() }
    }

    /// Deals with what was seen, and has happen what comes of it, one after the other.
    func act() {
        guard self.isMoving, !self.isActing else { return }
        self.isActing = true
        defer { self.isActing = false }
        while self.watch.trying == nil {
            // It was there before what comes of the last thing that was seen.
            if self.arrivals.isEmpty, exchange(&self.isToRetry, with: false) { self.watch.retry() }
            if let attempt = self.watch.next() {
                self.attempt(attempt)
            } else if let arrival = self.arrivals.popFirst() {
                self.take(arrival)
            } else {
                return
            }
        }
    }

    /// Notes that the machine has come as far; returns whether there is anything to look at.
    @discardableResult
    private func note(_ arrival: Arrival) -> Bool {
        let look = arrival.look
        arrival.taken?.resume()
        // One that a reload has removed is seen no more.
        guard self.looks.contains(where: { $0 === look }) else { return false }
        look.taken = arrival.state
        guard arrival.state != nil else { return false }
        self.cursors.note(arrival.cursor, of: look.link.name)
        return true
    }

    private func take(_ arrival: Arrival) {
        guard self.note(arrival) else { return }
        self.saw(self.keys.filter { $0.link == arrival.look.link.name })
        self.unnoted += 1
        if self.unnoted >= Self.noteInterval { self.noteSoon() }
    }

    private func attempt(_ attempt: LinkWatch.Attempt) {
        guard let key = LinkCondition(attempt.key), self.server.stays?.suspension() == nil else {
            return self.watch.failed(attempt)
        }
        let (schema, sight) = (self.server.states, self.sight)
        let (starts, version) = (self.server.stays?.starts, sight.version)
        let move = Move(
            to: .made(
                { (place) throws(Refused) in
                    try schema.made(.seen(key), at: place, seeing: sight, starts)
                },
                renewingIn: self.server.stays?.renewable
            ),
            if: .holds { $0.stay == attempt.stay },
            cause: key.written
        )
        self.server.machine.propose(
            Happening(move, self.kept(without: attempt.key), of: self.server) {
                self.answered(attempt, $0, seen: version)
            }
        )
    }

    private func answered(
        _ attempt: LinkWatch.Attempt,
        _ answer: Move.Answer,
        seen version: Int
    ) {
        switch answer {
        case .success(let outcome):
            self.server.decided(answer, isOwnMove: true)
            if case .unchanged(_, .renewed) = outcome { self.server.stays?.madeMove() }
            self.happened(attempt)
        case .failure(let refused):
            switch refused.reason {
            // Nothing can come of it.
            case .illegal: self.happened(attempt)
            case .denied(let denials):
                self.isDeniedByLinks = self.isDeniedByLinks || denials.areOfLinks
                self.failed(attempt)
                // What was seen has changed since it was decided.
                if self.isDeniedByLinks, self.sight.version != version { self.tryAgain() }
            case .conflict, .stale, .notCommitted, .unsure, .overloaded, .wouldWait, .withdrawn:
                self.failed(attempt)
            }
        }
        self.act()
    }

    private func happened(_ attempt: LinkWatch.Attempt) {
        self.watch.happened(attempt)
        self.pause.reset()
        self.noteSoon()
    }

    private func failed(_ attempt: LinkWatch.Attempt) {
        self.watch.failed(attempt)
        guard !self.watch.pending.isEmpty, self.retry == nil else { return }
        let delay = TimeAmount(self.pause.next())
        self.retry = self.server.loop.assumeIsolated().scheduleTask(in: delay) { self.tryAgain() }
    }

    /// Tries again what happened in vain: a voter has gone, moves are no longer withheld, or a link has changed.
    func tryAgain() {
        self.retry?.cancel()
        (self.retry, self.isDeniedByLinks) = (nil, false)
        guard !self.watch.pending.isEmpty else { return }
        self.isToRetry = true
        // Not before everything that goes with it has happened.
        self.server.loop.assumeIsolated().execute { self.act() }
    }

    // MARK: - What is kept

    private func kept(without key: String? = nil) -> KeptLinks {
        self.watch.kept(self.cursors.of(self.keys.map(\.link)), without: key)
    }

    private func noteSoon() {
        guard self.isWatching, self.note == nil, !self.keys.isEmpty else { return }
        self.note = self.server.loop.assumeIsolated().scheduleTask(in: Self.noteDelay) {
            self.noteNow()
        }
    }

    private func noteNow() {
        self.note?.cancel()
        (self.note, self.unnoted) = (nil, 0)
        guard !self.keys.isEmpty else { return }
        // What is being tried records by itself that it has happened, and this would come behind that.
        guard self.watch.trying == nil else { return self.noteSoon() }
        self.server.machine.note(.links(self.kept()))
    }

    // MARK: - What is shown

    /// What is said of each: its state, or why it cannot be seen, and what is asked of it in vain; with `onlyTroubles` of
    /// those alone of which there is something to be said.
    func rows(onlyTroubles: Bool) -> [JSONValue] {
        self.looks.compactMap { look in
            let pending = self.watch.pending.filter { LinkCondition($0)?.link == look.link.name }
            return look.row(pending: pending, onlyTroubles: onlyTroubles)
        }
    }

    /// Sentences about those of which there is something to be said.
    var troubles: [String] {
        self.looks.flatMap(\.troubles)
    }

    private func show() { self.server.showLinks(self.troubles) }
}

/// Something that has come to be seen, and what is kept once it has happened.
private final class Happening: Machine.Proposal, @unchecked Sendable {
    private let kept: KeptLinks

    init(
        _ move: Move,
        _ kept: KeptLinks,
        of server: StateServer,
        completion: @escaping @Sendable (Move.Answer) -> Void
    ) {
        self.kept = kept
        super.init(
            .move(move),
            asking: Question(),
            waited: server.machine.stopwatch,
            at: server.cursor,
            isLimited: false,
            completion: completion
        )
    }

    override var companion: Record? { .links(self.kept) }
}

extension [Vote.Denial] {
    /// Whether what is seen of other machines is against it.
    var areOfLinks: Bool {
        self.contains { if case .link? = $0.claim { true } else { false } }
    }
}

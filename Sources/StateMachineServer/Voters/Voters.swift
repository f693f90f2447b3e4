import NIOCore
import StateMachineCore
import StateMachineProtocol

/// All holds and guards: recorded before they are answered, and in force again from the start on.
///
/// After a crash those of connections are *away*: something stands in for each until its client
/// has taken it again, or the time for that is over. A required guard denies for as long as none of
/// its name is connected; several may be, and all of them are asked. A hold of a name belongs to no
/// connection, and lasts until its time or its release.
///
/// Belongs to the event loop.
final class Voters {
    /// What has become of one that has a name.
    enum News {
        /// No guard of its name is connected any longer.
        case missing
        /// One is again.
        case connected
        /// It is released.
        case released
        /// Its time is over.
        case ended
        /// Its time would be over, by a clock that is doubted.
        case doubted
        /// What is recorded of it cannot be read, so all states are denied.
        case unreadable
    }

    private unowned let server: StateServer
    private let loop: any EventLoop
    /// Whether what is answered here outlives a crash: there is a history.
    private(set) var isLasting = false
    /// Those that the history has, or is about to have, as they are there, by number.
    private var recorded: [UInt64: KeptVoter] = [:]
    /// The declaration that may come into force at any moment; nil while none is to.
    private(set) var next: Schema?
    /// Those that are recorded, by number; of guards required under one name only the newest.
    private var kept: [UInt64: KeptVoter] = [:]
    /// Those with a name that are on their way to the engine, of a machine that hosts share, by name.
    private var beingNamed: [String: KeptVoter] = [:]
    /// Those that have a say, by number.
    private var voting: [UInt64: SocketVoter] = [:]
    /// The last number that a hold, a guard or a question was given.
    private(set) var lastNumber: UInt64 = 0
    /// When holds of a name are over.
    private let clock: HoldClock
    /// What other hosts ask guards here, by host.
    private var foreignAsks: [String: [ForeignAsk]] = [:]
    /// Called with what has become of one that has a name; nil until ``announce(to:)``.
    private var tell: ((News, KeptVoter) -> Void)?

    /// Those of that server's machine, on its loop.
    init(_ server: StateServer) {
        self.server = server
        self.loop = server.loop
        self.clock = HoldClock(by: server.clock, on: server.loop)
    }

    /// Called with nil when something is recorded, or with why it was not, or may not have been.
    typealias Done = (Refusal?) -> Void

    /// A number for a hold, a guard or a question; none is given twice.
    func nextNumber() -> UInt64 {
        // An earlier life of this host may have left some.
        if let highest = self.server.sharing?.names.highestNumber {
            self.lastNumber = max(self.lastNumber, highest)
        }
        self.lastNumber += 1
        return self.lastNumber
    }

    // MARK: - The last run's

    /// Takes over those of the last run, all of which are in force until their clients are here.
    ///
    /// - Parameters:
    ///   - left: as they were left, by number.
    ///   - number: the last that the last process gave out.
    ///   - past: where they came from; nil if they came from the last process, and the machine's log keeps none.
    ///   - graceMs: how long the clients have to take what is theirs again, in milliseconds.
    func resume(
        with left: [KeptVoter],
        after number: UInt64,
        keptIn past: (any PastStore)?,
        graceMs: Int
    ) {
        self.lastNumber = max(number, left.map(\.number).max() ?? 0)
        self.isLasting = past != nil || self.server.sharing != nil
        for voter in left { self.recorded[voter.number] = voter }
        self.clock.begin(
            after: left.map(\.since) + [past?.beginning.newest?.at].compactMap(\.self)
        )
        for voter in left {
            var present = voter
            present.request = self.followed(voter.request)
            switch voter.term {
            case .connection, .named: break
            case .required(let name):
                present.missing = voter.missing ?? .now
                // The newer of two, of which a crash has left both.
                if let older = self[required: name] { self.end(older.number) }
            }
            self.kept[voter.number] = present
            self.voting[voter.number] = self.standIn(for: present)
            self.recordLater(voter.number)
        }
        self.awaitClients(for: graceMs)
    }

    /// Gives those of the last run whose clients are not here so long to take what is theirs again.
    private func awaitClients(for graceMs: Int) {
        guard self.voting.values.contains(where: \.isAway) else { return }
        self.loop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(graceMs))) {
            self.endGrace()
        }
    }

    /// Takes over those that this host had when its daemon was killed, as other hosts still have them.
    func takeOver(_ left: [KeptVoter]) {
        for voter in left where self.voting[voter.number] == nil {
            self.lastNumber = max(self.lastNumber, voter.number)
            self.recorded[voter.number] = voter
            self.kept[voter.number] = voter
            self.voting[voter.number] = self.standIn(for: voter)
        }
        self.awaitClients(for: self.server.limits.graceMs)
    }

    /// Another host asks guards of this one.
    func ask(_ question: ForeignQuestion) {
        guard let engine = self.server.sharing?.engine else { return }
        let asks = question.guards.compactMap { self.voting[$0]?.asked(question, by: engine) }
        self.foreignAsks[question.host, default: []] += asks
    }

    /// That host no longer waits for an answer.
    func askEnded(at host: String) {
        for ask in self.foreignAsks.removeValue(forKey: host) ?? [] { ask.end() }
    }

    /// The host's session has ended: what waits for its client is no longer there.
    func sessionEnded() {
        for voter in self.voting.values.filter(\.isAway) { self.end(voter.number) }
    }

    /// Reports to `tell` which are missing, unreadable or over, and from now on what becomes of them.
    ///
    /// Called once the connections of the last process are here. Until then no hold of a name ends.
    func announce(to tell: @escaping (News, KeptVoter) -> Void) {
        self.tell = tell
        for voter in self.kept.values.sorted(by: { $0.number < $1.number }) {
            if VoterRequest(again: voter.request, in: self.server.schema) == nil {
                tell(.unreadable, voter)
            }
            if voter.missing != nil { tell(.missing, voter) }
            if let until = voter.until, self.clock.isDoubted(until) {
                tell(.doubted, voter)
            }
        }
        self.endOverdue()
        self.wait()
    }

    /// Those that belong to no connection, as they are left to the next process.
    var unattached: [KeptVoter] {
        self.kept.values.filter { $0.term != .connection }.sorted { $0.number < $1.number }
    }

    /// The time is over in which clients could take what is theirs again.
    private func endGrace() {
        let away = self.voting.values.filter(\.isAway)
        guard !away.isEmpty else { return }
        for voter in away {
            self.remove(voter.number)
            voter.end(voting: voter.terms.silence.map { .no($0) } ?? .abstain)
        }
        self.server.stays?.voterWent()
    }

    /// Calls `body` once nothing is on its way to the history.
    func whenSettled(_ body: @escaping () -> Void) {
        guard self.isLasting else { return body() }
        let body = NIOLoopBound(body, eventLoop: self.loop)
        self.server.afterCommits { body.value() }
    }

    // MARK: - Recording

    /// Has the machine's log record them, all or none, with the group that gathers; they are in force already.
    ///
    /// A connection waits for one at a time, so that no user has more of them under way than connections.
    ///
    /// - Parameters:
    ///   - records: holds and guards, and ends of some.
    ///   - done: called later with nil, or with why they could not be recorded; nil: nobody waits for that.
    private func record(_ records: [Record], done: Done?) {
        guard self.isLasting else {
            done?(nil)
            return
        }
        let numbers = records.compactMap(\.voter)
        guard let done else {
            for number in numbers { self.recordLater(number) }
            return
        }
        let answer = NIOLoopBound(
            { (refusal: Refusal?) in
                for record in records { self.note(record, refusal) }
                done(refusal)
                // What has changed meanwhile, or was taken back.
                for number in numbers { self.recordLater(number) }
            },
            eventLoop: self.loop
        )
        // Never before this returns: the caller has yet to note what is to be answered.
        self.server.machine.record(records) { [loop] refusal in
            loop.execute { answer.value(refusal) }
        }
    }

    /// Has the log record what nothing here stands for.
    ///
    /// - Parameters:
    ///   - record: a hold with a name of a machine that hosts share, or the end of one.
    ///   - done: called later with nil, or with why it could not be recorded.
    func recordAlone(_ record: Record, done: @escaping Done) {
        let answer = NIOLoopBound(done, eventLoop: self.loop)
        self.server.machine.record([record]) { [loop] refusal in
            loop.execute { answer.value(refusal) }
        }
    }

    /// Notes what the history has, or may have.
    private func note(_ record: Record, _ refusal: Refusal?) {
        switch (record, refusal) {
        case (.voter(let voter), nil), (.voter(let voter), .unsure):
            self.recorded[voter.number] = voter
        case (.voterEnded(let number), nil): self.recorded[number] = nil
        case (.voter, _), (.voterEnded, _), (.change, _), (.stay, _), (.times, _), (.links, _),
            (.declared, _):
            break
        }
    }

    /// Has the one of that number recorded as it is now, or its end, whenever that can be.
    private func recordLater(_ number: UInt64) {
        let present = self.kept[number]
        guard self.isLasting, present != self.recorded[number] else { return }
        self.recorded[number] = present
        self.server.machine.note(present.map { .voter($0) } ?? .voterEnded(number))
    }

    /// Ends all that belongs to no connection: nothing is decided any longer.
    func stop() {
        self.clock.stop()
        for voter in self.voting.values where voter.owner == nil {
            voter.end(voting: .no("the daemon is shutting down"))
        }
        // Those that the next process takes over vote until this one ends.
        self.voting = [:]
    }

    // MARK: - Of connections

    /// The one of the last run that a client asks for again: of the same user, for the same states.
    func away(_ isHold: Bool, before patterns: PatternList, by peer: Peer) -> SocketVoter? {
        self.voting.values
            .filter { voter in
                voter.isAway && voter.terms.isHold == isHold && voter.peer.uid == peer.uid
                    && peer.owns(voter.peer) && voter.patterns == patterns
            }
            .min { $0.number < $1.number }
    }

    /// What denies while no guard of that required name is connected; nil if one is.
    func missing(_ name: String) -> SocketVoter? {
        self[required: name].flatMap { self.standIn($0.number) }
    }

    /// Notes that a connection has a hold or a guard, which votes from now on.
    ///
    /// What stood in for it ends, without a moment between.
    ///
    /// - Parameters:
    ///   - voter: the hold or guard.
    ///   - done: called when that is recorded, with nil, or with why it could not be.
    func placed(_ voter: SocketVoter, done: Done? = nil) {
        let before = voter.name.flatMap { self[required: $0] }
        var kept = voter.record
        kept.request = self.followed(kept.request)
        if let before { kept.since = before.since }
        let number = before?.number ?? voter.number
        let standIn = self.standIn(number)
        if standIn != nil { self.voting[number] = nil }
        if let before { self.kept[before.number] = nil }
        self.kept[voter.number] = kept
        self.voting[voter.number] = voter
        if let standIn {
            standIn.end()
            if voter.name != nil { self.tell?(.connected, kept) }
            self.server.stays?.voterWent()
        }
        // A name has one row.
        let older = before.flatMap { $0.number == kept.number ? nil : Record.voterEnded($0.number) }
        let records = [.voter(kept)] + [older].compactMap(\.self)
        let answered = done.map { done -> Done in
            { refusal in
                if refusal != nil { self.takeBack(kept, for: before) }
                done(refusal)
            }
        }
        self.record(records, done: answered)
    }

    /// Forgets one that could not be recorded, for the one that it was to replace: what was promised to nobody does not
    /// stay, unless a newer one is there.
    private func takeBack(_ kept: KeptVoter, for before: KeptVoter?) {
        guard var present = self.kept[kept.number] else { return }
        // Its client may have gone already.
        present.missing = kept.missing
        guard present == kept else { return }
        if let before, self.recorded[before.number] != nil {
            guard self.standIn(kept.number) == nil else { return }
            self.kept[kept.number] = nil
            self.kept[before.number] = before
        } else {
            self.end(kept.number)
        }
    }

    /// Notes that a hold or a guard is about to end with its connection.
    ///
    /// If it was the last required guard of its name, its states are denied from here on.
    ///
    /// - Parameters:
    ///   - voter: the hold or guard.
    ///   - isClosing: whether the daemon is shutting down: then it is in force again at the next start.
    ///   - done: of one that is not required, called when its end is recorded, with nil, or with why it could not be.
    func willEnd(_ voter: SocketVoter, isClosing: Bool, done: Done? = nil) {
        self.voting[voter.number] = nil
        guard let name = voter.name else {
            let isRecorded = !isClosing && self.kept[voter.number] != nil
            if isRecorded { self.remove(voter.number, done: done) } else { done?(nil) }
            return
        }
        guard self.guards(name).isEmpty, var kept = self[required: name] else { return }
        kept.missing = .now
        self.kept[kept.number] = kept
        // The time is for people to know; it denies in any case.
        self.recordLater(kept.number)
        guard !isClosing else { return }
        let absence = self.standIn(for: kept)
        self.voting[kept.number] = absence
        self.tell?(.missing, kept)
    }

    // MARK: - Names

    /// Refuses a required guard of that name if it is another user's, or there is no room.
    func check(_ name: String, by peer: Peer) throws(WireError) {
        try self.checkOwner(peer)
        guard let kept = self[required: name] else {
            return try self.checkRoom(for: peer, among: Array(self.kept.values))
        }
        guard peer.owns(kept.peer) else {
            throw WireError(
                .forbidden,
                "the required guard \(name) belongs to user \(kept.peer.uid); give another name"
            )
        }
    }

    private func checkOwner(_ peer: Peer) throws(WireError) {
        guard peer.uid != 0, peer.uid == Peer.overflowUid else { return }
        throw WireError(
            .forbidden,
            "user \(peer.uid) stands for all users of other user namespaces, and may not own a required guard or named hold"
        )
    }

    private func checkRoom(for peer: Peer, among kept: [KeptVoter]) throws(WireError) {
        let named = kept.filter { $0.name != nil }
        let isExempt = self.server.users.isPrivileged(peer.uid)
        let reserve = isExempt ? 0 : ServerLimits.requiredGuardsInReserve
        try self.checkRoom(named.count, of: ServerLimits.requiredGuards - reserve, "")
        guard !isExempt else { return }
        let own = named.count { $0.peer.uid == peer.uid }
        try self.checkRoom(own, of: ServerLimits.requiredGuardsPerUid, " of this user")
    }

    private func checkRoom(_ count: Int, of limit: Int, _ whose: String) throws(WireError) {
        guard count < limit else {
            throw WireError(
                .limit,
                "there are already \(limit) required guards and named holds\(whose), the most that are allowed; "
                    + "release one by its name"
            )
        }
    }

    /// Takes a hold that belongs to no connection, or renews it.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - time: how long it lasts, in milliseconds.
    ///   - peer: whose it is.
    ///   - line: the request.
    ///   - done: called when that is recorded, with nil, or with why it could not be.
    /// - Returns: its number.
    /// - Throws: why it is refused.
    func hold(
        _ name: String,
        for time: UInt64,
        by peer: Peer,
        _ line: [UInt8],
        done: @escaping Done
    ) throws(WireError) -> UInt64 {
        if let names = self.server.sharing?.names {
            let before = try names.hold(name, by: peer, or: self.beingNamed[name])
            try self.checkOwner(peer)
            if before == nil {
                let coming = self.beingNamed.values.filter { names.own($0.number) == nil }
                try self.checkRoom(for: peer, among: names.own + coming)
            }
            let kept = KeptVoter(
                number: before?.number ?? self.nextNumber(),
                name: name,
                peer: peer,
                request: line,
                since: before?.since ?? .now,
                until: WallTime(microseconds: WallTime.now.microseconds + Int64(time) * 1000)
            )
            self.beingNamed[name] = kept
            self.recordAlone(.voter(kept)) { refusal in
                if self.beingNamed[name] == kept { self.beingNamed[name] = nil }
                done(refusal)
            }
            return kept.number
        }
        guard self.isLasting else {
            throw WireError(
                .badRequest,
                "\"as\" needs a history, and this daemon has none; start it with --state-directory DIRECTORY"
            )
        }
        try self.checkOwner(peer)
        self.endOverdue()
        let before = self[named: name]
        if let before {
            guard peer.uid == before.peer.uid else {
                throw WireError(
                    .forbidden,
                    "the hold \(name) belongs to user \(before.peer.uid); give another name"
                )
            }
        } else {
            try self.checkRoom(for: peer, among: Array(self.kept.values))
        }
        let now = self.clock.now
        let kept = KeptVoter(
            number: before?.number ?? self.nextNumber(),
            name: name,
            peer: peer,
            request: line,
            since: before?.since ?? now,
            until: WallTime(microseconds: now.microseconds + Int64(time) * 1000)
        )
        self.stand(kept)
        self.record([.voter(kept)]) { refusal in
            if refusal != nil, self.kept[kept.number] == kept {
                if let before { self.stand(before) } else { self.end(kept.number) }
            }
            done(refusal)
        }
        return kept.number
    }

    /// Has that hold in force, in place of the one of its number.
    private func stand(_ kept: KeptVoter) {
        self.kept[kept.number] = kept
        let voter = self.standIn(for: kept)
        if let older = exchange(&self.voting[kept.number], with: voter) {
            older.end()
            self.server.stays?.voterWent()
        }
        self.wait()
    }

    /// Ends a required guard or a hold, by its name.
    ///
    /// - Parameters:
    ///   - kept: the guard or hold.
    ///   - done: called when that is recorded, with nil, or with why it could not be.
    /// - Returns: the guards of that name that are connected.
    func release(_ kept: KeptVoter, done: @escaping Done) -> [SocketVoter] {
        self.tell?(.released, kept)
        self.end(kept.number, done: done)
        guard case .required(let name) = kept.term else { return [] }
        return self.guards(name)
    }

    // MARK: - Their end

    private func remove(_ number: UInt64, done: Done? = nil) {
        self.kept[number] = nil
        if self.standIn(number) != nil { self.voting[number] = nil }
        self.record([.voterEnded(number)], done: done)
    }

    /// Ends one; an open question is decided without it.
    func end(_ number: UInt64, done: Done? = nil) {
        let voter = self.standIn(number)
        self.remove(number, done: done)
        voter?.end()
        self.server.stays?.voterWent()
    }

    /// Ends the holds whose time is over.
    func endOverdue() {
        guard let tell else { return }
        for kept in self.kept.values {
            guard let until = kept.until, self.isOver(until) else { continue }
            tell(.ended, kept)
            self.end(kept.number)
        }
    }

    /// Whether a hold of a name is over that ends at that time.
    func isOver(_ until: WallTime) -> Bool { self.clock.isOver(until) }

    /// Waits for the next end.
    private func wait() {
        guard self.tell != nil else { return }
        self.clock.wait(until: self.kept.values.compactMap(\.until).min()) {
            self.endOverdue()
            self.wait()
        }
    }

    // MARK: - What stands in

    /// Registers a voter that belongs to no connection, made from the request as the states are declared now.
    ///
    /// It denies all states if the request can no longer be read.
    private func standIn(for kept: KeptVoter) -> SocketVoter {
        let schema = self.server.schema
        let asked =
            VoterRequest(again: kept.request, in: schema) ?? VoterRequest(denyingAllOf: schema)
        let voter = SocketVoter(
            standingFor: kept,
            asked,
            among: self,
            matching: self.server.states
        )
        if let next { voter.expect(next) }
        voter.begin(in: self.server)
        return voter
    }

    /// A request under the names of the declaration in force: the next may not know the old ones.
    private func followed(_ line: [UInt8]) -> [UInt8] {
        guard let request = Request(again: line),
            let call = self.server.schema.rewritten(request.call)
        else { return line }
        return Array(Request(call).line.dropLast())
    }

    // MARK: - For others

    /// All of them, in no order.
    var present: [SocketVoter] {
        self.endOverdue()
        return Array(self.voting.values)
    }

    /// The one of that number, if it has a say.
    func voter(_ number: UInt64) -> SocketVoter? { self.voting[number] }

    /// What stands in for the one of that number; nil if it belongs to a connection.
    private func standIn(_ number: UInt64) -> SocketVoter? {
        self.voting[number].flatMap { $0.owner == nil ? $0 : nil }
    }

    /// The connected guards that are required under that name.
    private func guards(_ name: String) -> [SocketVoter] {
        self.voting.values.filter { $0.owner != nil && $0.name == name }
    }

    /// The one of that number, if it belongs to a connection.
    func connected(_ number: UInt64) -> SocketVoter? {
        self.voting[number].flatMap { $0.owner == nil ? nil : $0 }
    }

    /// What is recorded of the one of that number, if it has a name or its client is away.
    subscript(_ number: UInt64) -> KeptVoter? {
        if let kept = self.kept[number], kept.name != nil || self.standIn(number) != nil {
            return kept
        }
        return self.voting[number]?.name.flatMap { self[required: $0] }
    }

    /// The required guard of that name.
    subscript(required name: String) -> KeptVoter? {
        self.kept.values.first { $0.term == .required(name) }
    }

    /// The hold of that name.
    subscript(named name: String) -> KeptVoter? {
        self.kept.values.first { $0.name == name && $0.until != nil }
    }

    /// Another declaration may come into force at any moment from now on; with nil it has, or will not.
    func expect(_ next: Schema?) {
        self.next = next
        if next == nil { self.follow() }
        let schema = self.server.schema
        for voter in self.voting.values {
            if let next { voter.expect(next) } else { voter.settle(on: schema) }
        }
    }

    /// Keeps those that name a state by an old name under its new one.
    private func follow() {
        for (number, var kept) in self.kept {
            let request = self.followed(kept.request)
            guard request != kept.request else { continue }
            kept.request = request
            self.kept[number] = kept
            self.recordLater(number)
        }
    }

    /// Those that no longer match any state, for the log.
    var void: [SocketVoter] {
        self.voting.values.filter(\.isVoid).sorted { $0.number < $1.number }
    }

    /// The declaration in force.
    var schema: Schema { self.server.schema }
}

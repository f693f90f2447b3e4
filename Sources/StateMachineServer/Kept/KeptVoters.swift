import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The holds and guards that outlive their connections: recorded before they are answered, and in
/// force again from the start on.
///
/// After a crash those of connections are *away*: something stands in for each until its client
/// has taken it again, or the time for that is over. A required guard denies for as long as none of
/// its name is connected; several may be, and all of them are asked. A hold of a name belongs to no
/// connection, and lasts until its time or its release.
///
/// Belongs to the event loop.
final class KeptVoters {
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
        /// What is recorded of it cannot be read, so all states are denied.
        case unreadable
    }

    private let machine: ServedMachine
    private let loop: any EventLoop
    private let ownUid: UInt32
    private let writer: KeptWriter
    /// The declaration that may come into force next.
    private var next: StateSchema?
    /// All of them, by number; of guards required under one name only the newest.
    private var all: [UInt64: KeptVoter] = [:]
    /// The voters that belong to no connection.
    private var standing: [UInt64: SocketVoter] = [:]
    /// The numbers of the connected guards of each required name.
    private var connected: [String: [UInt64]] = [:]
    /// Those that have been replaced or have gone, and may still be sent a question.
    private var retired: [SocketVoter] = []
    private var isRetiring = false
    /// Rings when a hold of a name may have come to its end.
    private var timer: Scheduled<Void>?
    /// Called with what has become of one that has a name.
    private var tell: (News, KeptVoter) -> Void = { _, _ in }

    /// - Parameters:
    ///   - machine: where they vote.
    ///   - loop: where everything happens.
    ///   - ownUid: the daemon's own user, who like root is exempt from per-user limits.
    init(_ machine: ServedMachine, on loop: any EventLoop, of ownUid: UInt32) {
        self.machine = machine
        self.loop = loop
        self.ownUid = ownUid
        self.writer = KeptWriter(on: loop)
    }

    /// Whether what is answered here outlives a crash.
    var isLasting: Bool { self.writer.isLasting }

    // MARK: - The last run's

    /// Takes over those of the last run, all of which are in force until their clients are here.
    ///
    /// - Parameters:
    ///   - left: as they were left, by number.
    ///   - history: where they came from and are kept; nil if they came from the last process.
    ///   - graceMs: how long the clients have to take what is theirs again, in milliseconds.
    func resume(with left: [KeptVoter], keptIn history: (any VoterHistory)?, graceMs: Int) {
        self.writer.begin(in: history, having: left)
        for voter in left {
            var present = voter
            present.request = self.followed(voter.request)
            switch voter.term {
            case .connection: break
            case .required(let name):
                present.missing = voter.missing ?? .now
                // The newer of two, of which a crash has left both.
                if let older = self[required: name] { self.end(older.number) }
            case .named(_, let until):
                guard until > .now else {
                    self.writer.forget(voter.number)
                    continue
                }
            }
            self.all[voter.number] = present
            self.standing[voter.number] = self.standIn(for: present)
            self.writer.keep(present)
        }
        self.wait()
        guard self.standing.values.contains(where: \.isAway) else { return }
        self.loop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(graceMs))) {
            self.endGrace()
        }
    }

    /// Reports to `tell` which are missing or unreadable, and from now on what becomes of them.
    ///
    /// Called once the connections of the last process are here.
    func announce(to tell: @escaping (News, KeptVoter) -> Void) {
        self.tell = tell
        for voter in self.all.values.sorted(by: { $0.number < $1.number }) {
            if VoterRequest(again: voter.request, in: self.machine.schema) == nil {
                tell(.unreadable, voter)
            }
            if voter.missing != nil { tell(.missing, voter) }
        }
    }

    /// Those that belong to no connection, as they are left to the next process.
    var left: [KeptVoter] {
        self.all.values.filter { $0.term != .connection }.sorted { $0.number < $1.number }
    }

    /// The time is over in which clients could take what is theirs again.
    private func endGrace() {
        let away = self.standing.values.filter(\.isAway)
        guard !away.isEmpty else { return }
        for voter in away {
            self.remove(voter.number)
            self.retire(voter, denying: voter.terms.silence)
        }
        self.machine.voterWent()
    }

    /// Calls `body` once nothing is on its way to the history.
    func whenSettled(_ body: @escaping () -> Void) { self.writer.whenIdle(body) }

    /// Ends all that belongs to no connection: nothing is decided any longer.
    func stop() {
        self.timer?.cancel()
        self.timer = nil
        for voter in self.standing.values { voter.end(denying: "the daemon is shutting down") }
        for voter in self.retired { voter.end() }
        self.standing = [:]
        self.retired = []
    }

    // MARK: - Of connections

    /// The one of the last run that a client asks for again: of the same user, for the same states.
    func away(_ isHold: Bool, before patterns: PatternList, by peer: Peer) -> SocketVoter? {
        self.standing.values
            .filter { voter in
                voter.isAway && voter.terms.isHold == isHold && voter.peer.uid == peer.uid
                    && peer.owns(voter.peer) && voter.patterns.patterns == patterns
            }
            .min { $0.number < $1.number }
    }

    /// What denies while no guard of that required name is connected; nil if one is.
    func missing(_ name: String) -> SocketVoter? {
        self[required: name].flatMap { self.standing[$0.number] }
    }

    /// Notes that a connection has a hold or a guard, which votes from now on.
    ///
    /// What stood in for it ends, without a moment between.
    ///
    /// - Parameters:
    ///   - voter: the hold or guard.
    ///   - done: called when that is recorded, with nil, or with why it could not be.
    func placed(_ voter: SocketVoter, done: @escaping KeptWriter.Done = { _ in }) {
        let before = voter.name.flatMap { self[required: $0] }
        let kept = KeptVoter(
            number: voter.number,
            name: voter.name,
            peer: voter.peer,
            request: self.followed(voter.request),
            since: before?.since ?? voter.since
        )
        let standIn = self.standing.removeValue(forKey: before?.number ?? voter.number)
        if let before { self.all[before.number] = nil }
        self.all[voter.number] = kept
        if let name = voter.name { self.connected[name, default: []].append(voter.number) }
        if let standIn {
            self.replace(standIn, by: voter)
            if voter.name != nil { self.tell(.connected, kept) }
            self.machine.voterWent()
        }
        self.writer.keep(kept) { failure in
            if let before {
                if failure == nil {
                    let isReplaced = before.number != kept.number && self.all[before.number] == nil
                    if isReplaced { self.writer.forget(before.number) }
                } else if self.all[kept.number] == kept {
                    // What was promised to nobody does not stay, unless a newer one is there.
                    self.all[kept.number] = nil
                    self.all[before.number] = before
                }
            }
            done(failure)
        }
    }

    /// Notes that a hold or a guard is about to end with its connection.
    ///
    /// If it was the last required guard of its name, its states are denied from here on.
    ///
    /// - Parameters:
    ///   - voter: the hold or guard.
    ///   - isClosing: whether the daemon is shutting down: then it is in force again at the next start.
    /// - Returns: whether something else denies in its place.
    func willEnd(_ voter: SocketVoter, isClosing: Bool) -> Bool {
        guard let name = voter.name else {
            guard !isClosing, self.all[voter.number] != nil else { return false }
            self.remove(voter.number)
            return false
        }
        self.connected[name]?.removeAll { $0 == voter.number }
        guard self.connected[name]?.isEmpty == true else { return false }
        self.connected[name] = nil
        guard var kept = self[required: name] else { return false }
        kept.missing = .now
        self.all[kept.number] = kept
        // The time is for people to know; it denies in any case.
        self.writer.keep(kept)
        guard !isClosing else { return false }
        let absence = self.standIn(for: kept)
        self.standing[kept.number] = absence
        self.tell(.missing, kept)
        self.retire(voter, denying: absence.blockingWhy)
        return true
    }

    // MARK: - Names

    /// Refuses a required guard of that name if it is another user's, or there is no room.
    func check(_ name: String, by peer: Peer) throws(WireError) {
        try self.checkOwner(peer)
        guard let kept = self[required: name] else { return try self.checkRoom(for: peer) }
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

    private func checkRoom(for peer: Peer) throws(WireError) {
        let named = self.all.values.filter { $0.name != nil }
        let isExempt = peer.uid == 0 || peer.uid == self.ownUid
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
    ///   - number: gives it a number if it is new.
    ///   - done: called when that is recorded, with nil, or with why it could not be.
    /// - Returns: its number.
    /// - Throws: why it is refused.
    func hold(
        _ name: String,
        for time: UInt64,
        by peer: Peer,
        _ line: [UInt8],
        number: () -> UInt64,
        done: @escaping KeptWriter.Done
    ) throws(WireError) -> UInt64 {
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
            try self.checkRoom(for: peer)
        }
        let now = WallTime.now
        let kept = KeptVoter(
            number: before?.number ?? number(),
            name: name,
            peer: peer,
            request: line,
            since: before?.since ?? now,
            until: WallTime(microseconds: now.microseconds + Int64(time) * 1000)
        )
        self.stand(kept)
        self.writer.keep(kept) { failure in
            if failure != nil, self.all[kept.number] == kept {
                if let before { self.stand(before) } else { self.end(kept.number) }
            }
            done(failure)
        }
        return kept.number
    }

    /// Has that hold in force, in place of the one of its number.
    private func stand(_ kept: KeptVoter) {
        self.all[kept.number] = kept
        let voter = self.standIn(for: kept)
        if let older = exchange(&self.standing[kept.number], with: voter) {
            self.replace(older, by: voter)
            self.machine.voterWent()
        }
        self.wait()
    }

    /// Ends a required guard or a hold, by its name.
    ///
    /// - Parameters:
    ///   - kept: the guard or hold.
    ///   - done: called when that is recorded, with nil, or with why it could not be.
    /// - Returns: the numbers of the guards of that name that are connected.
    func release(_ kept: KeptVoter, done: @escaping KeptWriter.Done) -> [UInt64] {
        self.tell(.released, kept)
        self.end(kept.number, done: done)
        guard case .required(let name) = kept.term else { return [] }
        return self.connected.removeValue(forKey: name) ?? []
    }

    // MARK: - Their end

    private func remove(_ number: UInt64, done: @escaping KeptWriter.Done = { _ in }) {
        self.all[number] = nil
        self.standing[number] = nil
        self.writer.forget(number, done: done)
    }

    /// Ends one; an open question is decided without it.
    func end(_ number: UInt64, done: @escaping KeptWriter.Done = { _ in }) {
        let voter = self.standing[number]
        self.remove(number, done: done)
        voter?.end()
        self.machine.voterWent()
    }

    /// Ends the holds whose time is over.
    func endOverdue() {
        let now = WallTime.now
        for kept in self.all.values {
            guard case .named(_, let until) = kept.term, until <= now else { continue }
            self.tell(.ended, kept)
            self.end(kept.number)
        }
    }

    /// Waits for the next end, by the wall clock, which may be set and sleeps with the machine.
    ///
    /// An hour at most: what is asked meanwhile is decided by the clock as it is then.
    private func wait() {
        self.timer?.cancel()
        self.timer = nil
        let ends = self.all.values.compactMap { $0.until?.microseconds }
        guard let next = ends.min() else { return }
        let left = min(max(next - WallTime.now.microseconds, 0), 3_600_000_000)
        self.timer = self.loop.assumeIsolated().scheduleTask(in: .microseconds(left)) {
            self.endOverdue()
            self.wait()
        }
    }

    // MARK: - What stands in

    /// Registers a voter that belongs to no connection, made from the request as the states are declared now.
    ///
    /// It denies all states if the request can no longer be read.
    private func standIn(for kept: KeptVoter) -> SocketVoter {
        let schema = self.machine.schema
        let asked =
            VoterRequest(again: kept.request, in: schema) ?? VoterRequest(denyingAllOf: schema)
        var (terms, until) = (nil as VoterTerms?, nil as WallTime?)
        switch kept.term {
        case .connection: break
        case .required: terms = .missing(since: kept.missing ?? .now)
        case .named(_, let end): until = end
        }
        let voter = SocketVoter(
            number: kept.number,
            requestID: nil,
            peer: kept.peer,
            asked,
            terms: terms,
            name: kept.name,
            until: until,
            since: kept.since,
            request: kept.request
        )
        voter.isAway = kept.term == .connection
        if let next { voter.patterns.expect(next) }
        voter.begin(in: self.machine)
        return voter
    }

    /// A request under the names of the declaration in force: the next may not know the old ones.
    private func followed(_ line: [UInt8]) -> [UInt8] {
        guard let request = Request(again: line),
            let call = self.machine.schema.rewritten(request.call)
        else { return line }
        return Array(Request(call).line.dropLast())
    }

    private func replace(_ older: SocketVoter, by voter: SocketVoter) {
        voter.succeed(older)
        self.cancelLater(older)
    }

    /// Lets one go that may still be sent a question.
    ///
    /// - Parameters:
    ///   - voter: what is asked nothing from now on.
    ///   - why: why a question that is open or on its way is denied; nil: it is not.
    private func retire(_ voter: SocketVoter, denying why: String?) {
        voter.leave(denying: why)
        self.cancelLater(voter)
    }

    /// Takes one out of the machine when what is being decided now is decided.
    private func cancelLater(_ voter: SocketVoter) {
        self.retired.append(voter)
        guard !self.isRetiring else { return }
        self.isRetiring = true
        self.cancelRetired()
    }

    private func cancelRetired() {
        let count = self.retired.count
        let voters = NIOLoopBound(self, eventLoop: self.loop)
        self.machine.afterDecision {
            let voters = voters.value
            for voter in voters.retired.prefix(count) { voter.end() }
            voters.retired.removeFirst(min(count, voters.retired.count))
            voters.isRetiring = !voters.retired.isEmpty
            if voters.isRetiring { voters.cancelRetired() }
        }
    }

    // MARK: - For others

    /// The voters that belong to no connection.
    var voters: some Sequence<SocketVoter> {
        self.endOverdue()
        return self.standing.values
    }

    /// The one of that number, if it has a name or its client is away.
    subscript(_ number: UInt64) -> KeptVoter? {
        if let kept = self.all[number], kept.name != nil || self.standing[number] != nil {
            return kept
        }
        return self.connected.first { $1.contains(number) }.flatMap { self[required: $0.key] }
    }

    /// The required guard of that name.
    subscript(required name: String) -> KeptVoter? {
        self.all.values.first { $0.term == .required(name) }
    }

    /// The hold of that name.
    subscript(named name: String) -> KeptVoter? {
        self.all.values.first { $0.name == name && $0.until != nil }
    }

    /// Notes a declaration that is about to come into force; nil once it has, or will not.
    func expect(_ next: StateSchema?) {
        self.next = next
        if next == nil { self.follow() }
        for voter in self.standing.values {
            if let next {
                voter.patterns.expect(next)
            } else {
                voter.patterns.settle(on: self.machine.schema)
            }
        }
    }

    /// Keeps those that name a state by an old name under its new one.
    private func follow() {
        for (number, var kept) in self.all {
            let request = self.followed(kept.request)
            guard request != kept.request else { continue }
            kept.request = request
            self.all[number] = kept
            self.writer.keep(kept)
        }
    }

    /// Those that no longer match any state.
    var void: [SocketVoter] {
        let schema = self.machine.schema
        return self.standing.values.filter { $0.patterns.areVoid(in: schema) }
    }
}

import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The guards that are required: while none of its name is connected, what a guard guards is denied.
///
/// Several of one user may be connected under one name, and all of them are asked; what is denied when the last of
/// them has gone is what the newest was to be asked about.
///
/// Belongs to the event loop.
final class Requirements {
    /// What has become of one.
    enum News {
        /// None of its name is connected any more.
        case missing
        /// One is again.
        case connected
        /// It is required no more.
        case released
        /// What is kept of it cannot be read, so that all states are denied.
        case unreadable
    }

    /// One of them.
    private struct Standing {
        var requirement: Requirement
        /// As the history has it; nil if it does not.
        var written: Requirement?
        var presence: Presence
    }

    private enum Presence {
        /// Guards of these numbers are connected.
        case connected([UInt64])
        /// None is, and this denies in its place.
        case missing(SocketVoter)
    }

    private let machine: any ServedMachine
    private let loop: any EventLoop
    private let ownUid: UInt32
    /// Where they are kept; nil: nowhere but in what is left to the next process.
    private var history: (any RequirementHistory)?
    private var all: [String: Standing] = [:]
    /// What declares the states next, perhaps.
    private var next: StateSchema?
    /// What was left of them cannot be read.
    private var unreadable: [Requirement] = []
    /// Told what becomes of one.
    private var tell: (News, Requirement) -> Void = { _, _ in }

    /// - Parameters:
    ///   - machine: where they are voters.
    ///   - loop: where everything happens.
    ///   - ownUid: the daemon's own user, who like root is held to no limit of a user's.
    init(_ machine: any ServedMachine, on loop: any EventLoop, of ownUid: UInt32) {
        self.machine = machine
        self.loop = loop
        self.ownUid = ownUid
    }

    // MARK: - The last run's

    /// Goes on with those of the last run, all of which are missing until their guards are here.
    ///
    /// - Parameters:
    ///   - left: as they were left.
    ///   - history: where they came from and are kept; nil: they came from the last process.
    ///   - number: gives a number to what denies in a guard's place.
    func resume(
        with left: [Requirement],
        keptIn history: (any RequirementHistory)?,
        number: () -> UInt64
    ) {
        self.history = history
        for requirement in left where self.all[requirement.name] == nil {
            var present = requirement
            present.request = self.followed(requirement.request)
            let missing = requirement.missing ?? .now
            present.missing = missing
            if self.calls(in: present.request) == nil { self.unreadable.append(present) }
            self.all[requirement.name] = Standing(
                requirement: present,
                written: history == nil ? nil : requirement,
                presence: .missing(self.absence(of: present, since: missing, number()))
            )
            if present != requirement { self.write(present) }
        }
    }

    /// Has it told what becomes of them, and first how it is, once the guards of the last process are here.
    func announce(to tell: @escaping (News, Requirement) -> Void) {
        self.tell = tell
        for requirement in self.unreadable { tell(.unreadable, requirement) }
        self.unreadable = []
        for requirement in self.left where requirement.missing != nil {
            tell(.missing, requirement)
        }
    }

    /// As they are left to the next process.
    var left: [Requirement] { self.all.values.map(\.requirement).sorted { $0.name < $1.name } }

    // MARK: - What happens to them

    /// Refuses a guard of that name if it is another user's, or there are as many as may be.
    func check(_ name: String, by peer: Peer) throws(WireError) {
        if let standing = self.all[name] {
            guard peer.uid == 0 || peer.uid == standing.requirement.peer.uid else {
                throw WireError(.forbidden, "a guard is required as \(name) by another user")
            }
            return
        }
        try self.checkRoom(self.all.count, of: ServerLimits.requiredGuards, "")
        guard peer.uid != 0, peer.uid != self.ownUid else { return }
        let own = self.all.values.count { $0.requirement.peer.uid == peer.uid }
        try self.checkRoom(own, of: ServerLimits.requiredGuardsPerUid, " of this user")
    }

    private func checkRoom(_ count: Int, of limit: Int, _ whose: String) throws(WireError) {
        guard count < limit else {
            throw WireError(
                .limit,
                "there are \(limit) required guards\(whose), as many as may be; release one by its name"
            )
        }
    }

    /// A guard that is required is asked from now on.
    ///
    /// - Parameters:
    ///   - voter: the guard.
    ///   - done: called when that is kept; nil, or why it could not be.
    func connected(_ voter: SocketVoter, done: @escaping (_ failure: String?) -> Void = { _ in }) {
        guard let name = voter.required else { return done(nil) }
        var numbers = [voter.number]
        let before = self.all[name]
        switch before?.presence {
        case .connected(let others): numbers = others + numbers
        // It is asked already, so that nothing slips through between the one and the other.
        case .missing(let absence): absence.end()
        case nil: break
        }
        let requirement = Requirement(
            name: name,
            peer: voter.peer,
            request: self.followed(voter.request),
            since: before?.requirement.since ?? voter.since
        )
        self.all[name] = Standing(
            requirement: requirement,
            written: before?.written,
            presence: .connected(numbers)
        )
        if case .missing = before?.presence {
            self.tell(.connected, requirement)
            self.machine.voterWent()
        }
        self.write(requirement) { failure in
            // What nobody was promised does not stay, unless a newer one has taken its place.
            if failure != nil, self.all[name]?.requirement == requirement {
                if let before {
                    self.all[name]?.requirement = before.requirement
                } else {
                    self.all[name] = nil
                }
            }
            done(failure)
        }
    }

    /// A guard is about to end with its connection: if it was the last of its name, its states are denied from
    /// here on.
    ///
    /// - Parameters:
    ///   - voter: the guard, which may be any.
    ///   - isClosing: whether nothing is decided any more in any case.
    /// - Returns: why what it was asked about is denied; nil if it is not for its sake.
    func willEnd(_ voter: SocketVoter, isClosing: Bool) -> String? {
        guard let name = voter.required, var standing = self.all[name],
            case .connected(var numbers) = standing.presence, numbers.contains(voter.number)
        else { return nil }
        numbers.removeAll { $0 == voter.number }
        standing.presence = .connected(numbers)
        defer { self.all[name] = standing }
        guard numbers.isEmpty else { return nil }
        let now = WallTime.now
        standing.requirement.missing = now
        // Since when is for people to know; it denies in any case.
        defer { self.write(standing.requirement) }
        guard !isClosing else { return nil }
        let absence = self.absence(of: standing.requirement, since: now, voter.number)
        standing.presence = .missing(absence)
        self.tell(.missing, standing.requirement)
        return absence.blockingWhy
    }

    /// Has one required no more.
    ///
    /// - Parameters:
    ///   - name: what it is known by.
    ///   - done: called when nothing is kept of it; nil, or why something still is.
    /// - Returns: the numbers of the guards of that name that are connected.
    func release(_ name: String, done: @escaping (_ failure: String?) -> Void) -> [UInt64] {
        guard let standing = self.all.removeValue(forKey: name) else {
            done(nil)
            return []
        }
        self.tell(.released, standing.requirement)
        if let history {
            history.forget(name, done: self.onLoop(done))
        } else {
            done(nil)
        }
        switch standing.presence {
        case .connected(let numbers): return numbers
        case .missing(let absence):
            absence.end()
            return []
        }
    }

    private func write(_ requirement: Requirement, done: @escaping (String?) -> Void = { _ in }) {
        let name = requirement.name
        guard let history, self.all[name]?.written != requirement else { return done(nil) }
        history.keep(
            requirement,
            done: self.onLoop { failure in
                if failure == nil { self.all[name]?.written = requirement }
                done(failure)
            }
        )
    }

    private func onLoop(
        _ done: @escaping (String?) -> Void
    ) -> @Sendable (_ failure: String?) -> Void {
        let bound = NIOLoopBound(done, eventLoop: self.loop)
        return { [loop] failure in loop.execute { bound.value(failure) } }
    }

    // MARK: - What denies in a guard's place

    /// What a request asked for, and what that is as the states are declared now; nil if it cannot be read any more.
    private func calls(in request: [UInt8]) -> (asked: GuardCall, present: GuardCall)? {
        guard let read = Request(again: request), case .guard(let asked) = read.call,
            case .guard(let present) = self.machine.schema.resolvedAgain(read.call)
        else { return nil }
        return (asked, present)
    }

    /// A request under the names of the declaration that is in force: the next may not know those of before.
    private func followed(_ request: [UInt8]) -> [UInt8] {
        guard let (asked, now) = self.calls(in: request) else { return request }
        var present = now
        let isSame = zip(asked.before.patterns, present.before.patterns).allSatisfy { old, new in
            old.name == new.name
        }
        guard !isSame else { return request }
        present.before = PatternList(present.before.patterns.map(\.rewritten))
        return Array(Request(.guard(present)).line.dropLast())
    }

    /// Puts it among the voters; before all states that there are, if its request cannot be read any more.
    private func absence(
        of requirement: Requirement,
        since: WallTime,
        _ number: UInt64
    ) -> SocketVoter {
        let call = self.calls(in: requirement.request)?.present
        let voter = SocketVoter(
            number: number,
            requestID: nil,
            peer: requirement.peer,
            why: call?.why,
            before: call?.before
                ?? PatternList(self.machine.schema.names.map { Pattern(typed: $0) }),
            terms: .missing(since: since),
            required: requirement.name,
            since: requirement.since,
            request: requirement.request
        )
        if let next = self.next { voter.patterns.expect(next) }
        let why = voter.blockingWhy
        voter.begin(
            self.machine.addVoter(
                voter.name,
                peer: voter.peer,
                deadline: VoteDeadline(limit: nil, whenSilent: .yes),
                before: voter.patterns,
                { _ = $0.vote(.no(why)) }
            )
        )
        return voter
    }

    /// What denies in the place of guards that are not connected.
    var missing: [SocketVoter] {
        self.all.values.compactMap { standing in
            switch standing.presence {
            case .connected: nil
            case .missing(let absence): absence
            }
        }
    }

    // MARK: - For others

    /// The one of that name.
    subscript(_ name: String) -> Requirement? { self.all[name]?.requirement }

    /// What the guard of that number is known by, if it is required, connected or not.
    func name(of number: UInt64) -> String? {
        self.all.first { _, standing in
            switch standing.presence {
            case .connected(let numbers): numbers.contains(number)
            case .missing(let absence): absence.number == number
            }
        }?.key
    }

    /// The states are about to be declared anew; with nil they are, or are not after all.
    func expect(_ next: StateSchema?) {
        self.next = next
        if next == nil { self.follow() }
        for absence in self.missing {
            if let next {
                absence.patterns.expect(next)
            } else {
                absence.patterns.settle(on: self.machine.schema)
            }
        }
    }

    /// Those that name a state that has another name by now are kept under that.
    private func follow() {
        for (name, standing) in self.all {
            var requirement = standing.requirement
            requirement.request = self.followed(requirement.request)
            guard requirement != standing.requirement else { continue }
            self.all[name]?.requirement = requirement
            self.write(requirement)
        }
    }

    /// Those that are missing and that no state can concern any more.
    var void: [SocketVoter] {
        let schema = self.machine.schema
        return self.missing.filter { $0.patterns.areVoid(in: schema) }
    }
}

import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The required guards: while none of a name is connected, the states guarded under it are denied.
///
/// Several of one user may be connected under one name, and all of them are asked; when the last of
/// them has gone, the states that the newest was to be asked about are denied.
///
/// Belongs to the event loop.
final class Requirements {
    /// What has become of a requirement.
    enum News {
        /// None of its name is connected any more.
        case missing
        /// One is again.
        case connected
        /// It is no longer required.
        case released
        /// Its kept request cannot be read, so all states are denied.
        case unreadable
    }

    /// A requirement, and whether its guard is connected.
    private struct Standing {
        var requirement: Requirement
        var presence: Presence
    }

    private enum Presence {
        /// Guards of these numbers are connected.
        case connected([UInt64])
        /// None is, and this voter denies in its place.
        case missing(SocketVoter)
    }

    private let machine: any ServedMachine
    private let ownUid: UInt32
    private let kept: KeptRequirements
    private var absences: MissingGuards
    private var all: [String: Standing] = [:]
    /// Those whose kept requests cannot be read.
    private var unreadable: [Requirement] = []
    /// Called with what has become of a requirement.
    private var tell: (News, Requirement) -> Void = { _, _ in }

    /// - Parameters:
    ///   - machine: where they vote.
    ///   - loop: where everything happens.
    ///   - ownUid: the daemon's own user, who like root is exempt from per-user limits.
    init(_ machine: any ServedMachine, on loop: any EventLoop, of ownUid: UInt32) {
        self.machine = machine
        self.ownUid = ownUid
        self.kept = KeptRequirements(on: loop)
        self.absences = MissingGuards(in: machine)
    }

    // MARK: - The last run's

    /// Takes over those of the last run, all of which are missing until their guards are here.
    ///
    /// - Parameters:
    ///   - left: as they were left.
    ///   - history: where they came from and are kept; nil if they came from the last process.
    ///   - number: gives a number to a voter that denies in a guard's place.
    func resume(
        with left: [Requirement],
        keptIn history: (any RequirementHistory)?,
        number: () -> UInt64
    ) {
        self.kept.begin(in: history, having: left)
        for requirement in left where self.all[requirement.name] == nil {
            var present = requirement
            present.request = self.absences.followed(requirement.request)
            let missing = requirement.missing ?? .now
            present.missing = missing
            if !self.absences.isReadable(present.request) { self.unreadable.append(present) }
            self.all[requirement.name] = Standing(
                requirement: present,
                presence: .missing(self.absences.begin(present, since: missing, number()))
            )
            if present != requirement { self.kept.keep(present) }
        }
    }

    /// Reports to `tell` which are missing or unreadable, and from now on what becomes of them.
    ///
    /// Called once the guards of the last process are here.
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

    /// Refuses a guard of that name if it is another user's, or the limit is reached.
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

    /// Notes that a required guard is connected, and asked from now on.
    ///
    /// - Parameters:
    ///   - voter: the guard.
    ///   - done: called when that is kept, with nil, or with why it could not be.
    func connected(_ voter: SocketVoter, done: @escaping (_ failure: String?) -> Void = { _ in }) {
        guard let name = voter.required else { return done(nil) }
        var numbers = [voter.number]
        let before = self.all[name]
        switch before?.presence {
        case .connected(let others): numbers = others + numbers
        // The new guard is asked already, so nothing slips through in between.
        case .missing(let absence): absence.end()
        case nil: break
        }
        let requirement = Requirement(
            name: name,
            peer: voter.peer,
            request: self.absences.followed(voter.request),
            since: before?.requirement.since ?? voter.since
        )
        self.all[name] = Standing(requirement: requirement, presence: .connected(numbers))
        if case .missing = before?.presence {
            self.tell(.connected, requirement)
            self.machine.voterWent()
        }
        self.kept.keep(requirement) { failure in
            // What was promised to nobody does not stay, unless a newer one has taken its place.
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

    /// Notes that a guard is about to end with its connection.
    ///
    /// If it was the last of its name, its states are denied from here on.
    ///
    /// - Parameters:
    ///   - voter: the guard, which may be any.
    ///   - isClosing: whether nothing is decided any more anyway.
    /// - Returns: why what it was asked about is denied; nil if it is not denied because of it.
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
        // The time is for people to know; it denies in any case.
        defer { self.kept.keep(standing.requirement) }
        guard !isClosing else { return nil }
        let absence = self.absences.begin(standing.requirement, since: now, voter.number)
        standing.presence = .missing(absence)
        self.tell(.missing, standing.requirement)
        return absence.blockingWhy
    }

    /// Ends a requirement.
    ///
    /// - Parameters:
    ///   - name: the requirement's name.
    ///   - done: called when it is no longer kept, with nil, or with why it still is.
    /// - Returns: the numbers of the guards of that name that are connected.
    func release(_ name: String, done: @escaping (_ failure: String?) -> Void) -> [UInt64] {
        guard let standing = self.all.removeValue(forKey: name) else {
            done(nil)
            return []
        }
        self.tell(.released, standing.requirement)
        self.kept.forget(name, done: done)
        switch standing.presence {
        case .connected(let numbers): return numbers
        case .missing(let absence):
            absence.end()
            return []
        }
    }

    /// The voters that deny in place of guards that are not connected.
    var missing: [SocketVoter] {
        self.all.values.compactMap { standing in
            switch standing.presence {
            case .connected: nil
            case .missing(let absence): absence
            }
        }
    }

    // MARK: - For others

    /// The requirement of that name.
    subscript(_ name: String) -> Requirement? { self.all[name]?.requirement }

    /// The name of the required guard of that number, connected or not.
    func name(of number: UInt64) -> String? {
        self.all.first { _, standing in
            switch standing.presence {
            case .connected(let numbers): numbers.contains(number)
            case .missing(let absence): absence.number == number
            }
        }?.key
    }

    /// Notes a declaration that is about to come into force; nil once it has, or will not.
    func expect(_ next: StateSchema?) {
        self.absences.expect(next)
        if next == nil { self.follow() }
        for absence in self.missing {
            if let next {
                absence.patterns.expect(next)
            } else {
                absence.patterns.settle(on: self.machine.schema)
            }
        }
    }

    /// Keeps those that name a state by an old name under its new one.
    private func follow() {
        for (name, standing) in self.all {
            var requirement = standing.requirement
            requirement.request = self.absences.followed(requirement.request)
            guard requirement != standing.requirement else { continue }
            self.all[name]?.requirement = requirement
            self.kept.keep(requirement)
        }
    }

    /// The missing guards that no longer match any state.
    var void: [SocketVoter] {
        let schema = self.machine.schema
        return self.missing.filter { $0.patterns.areVoid(in: schema) }
    }
}

/// The voters of a gate: some are asked about every motion, the others are found by what it would change.
///
/// Those who are found stand at buckets, numbers that are made of the states that concern them, and a motion is put to
/// those at its buckets who want to be asked. So a proposal costs nothing for each voter that it does not
/// concern. Part of what a machine's lock guards.
struct Electorate: Sendable {
    /// Those who are asked about every motion.
    private var everywhere: [VoterMember] = []
    private var byBucket: [Int: [VoterMember]] = [:]
    /// Goes up whenever a motion may concern a voter that it did not concern before.
    private(set) var version = 0
    /// The buckets of a motion; pure, and called under no lock.
    var buckets: @Sendable (Motion) -> [Int] = { _ in [] }

    /// Whether no motion concerns anybody.
    var isEmpty: Bool { self.everywhere.isEmpty && self.byBucket.isEmpty }

    mutating func add(_ voter: VoterMember) {
        self.version += 1
        self.stand(voter)
    }

    /// Removes a voter, which may have been removed before.
    mutating func remove(_ voter: VoterMember) { _ = self.leave(voter) }

    /// Has a voter stand at other buckets, if it is here; nil: it is asked about every motion.
    mutating func move(_ voter: VoterMember, to buckets: Set<Int>?) {
        let isHere = self.leave(voter)
        voter.buckets = buckets
        guard isHere else { return }
        self.version += 1
        self.stand(voter)
    }

    /// The voters at those buckets, each once, and those who are asked about every motion.
    func voters(at buckets: [Int]) -> [VoterMember] {
        var voters = self.everywhere
        var found: Set<ObjectIdentifier> = []
        for bucket in buckets {
            for voter in self.byBucket[bucket] ?? []
            where found.insert(ObjectIdentifier(voter)).inserted { voters.append(voter) }
        }
        return voters
    }

    /// Those of the voters who are found at those buckets, each once.
    func voters(among voters: [VoterMember], at buckets: [Int]) -> [VoterMember] {
        var found: Set<ObjectIdentifier> = []
        return voters.filter {
            $0.isListed && $0.buckets?.isDisjoint(with: buckets) != true
                && found.insert(ObjectIdentifier($0)).inserted
        }
    }

    private mutating func stand(_ voter: VoterMember) {
        voter.isListed = true
        guard let buckets = voter.buckets else { return self.everywhere.append(voter) }
        for bucket in buckets { self.byBucket[bucket, default: []].append(voter) }
    }

    /// Returns whether it was there.
    private mutating func leave(_ voter: VoterMember) -> Bool {
        guard voter.isListed else { return false }
        voter.isListed = false
        guard let buckets = voter.buckets else {
            self.everywhere.removeAll { $0 === voter }
            return true
        }
        for bucket in buckets {
            self.byBucket[bucket]?.removeAll { $0 === voter }
            if self.byBucket[bucket]?.isEmpty == true { self.byBucket[bucket] = nil }
        }
        return true
    }
}

extension [VoterMember] {
    /// Called under no lock, since it runs their code.
    func whoWantToBeAsked(about motion: Motion) -> Self {
        self.filter { !$0.isCancelled && $0.isAsked(motion) }
    }
}

extension Registration {
    /// From when this returns a voter is found at those buckets and no others; nil: it is asked about every motion.
    package func move(to buckets: Set<Int>?) {
        guard let voter = self.member as? VoterMember, let machine = voter.owner as? Machine else {
            return
        }
        if machine.holder.withLock({ $0.gate.voterMoved(voter, to: buckets) }) { machine.pump() }
    }

    /// Ends a voter's; in a question that is open, or on its way to it, that is its vote.
    package func cancel(voting vote: Vote) {
        if let voter = self.member as? VoterMember, let machine = voter.owner as? Machine {
            machine.holder.withLock { _ in voter.lastVote = vote }
        }
        self.cancel()
    }
}

extension Machine {
    /// Finds voters that stand at buckets by the buckets of what is proposed.
    ///
    /// - Parameter buckets: the buckets of a motion; pure, and called on any thread.
    package func findVoters(at buckets: @escaping @Sendable (Motion) -> [Int]) {
        // What it replaces is released after the lock.
        _ = self.holder.withLock { exchange(&$0.gate.voters.buckets, with: buckets) }
    }

    /// Asks before the state changes, perhaps on behalf of a peer.
    ///
    /// - Parameters:
    ///   - terms: who votes, and for how long it is waited for.
    ///   - context: where it is asked.
    ///   - buckets: where it stands, to be asked about motions that have one of these buckets; nil: about
    ///     every motion.
    ///   - isAsked: pure, and run on the proposing thread; which of those motions it is asked about.
    ///   - stop: ends what its questions have started, and calls its argument once that has ended.
    ///   - body: called with each question, once; it must not block.
    /// - Returns: its registration, with which it moves to other buckets.
    @discardableResult
    package func addVoter(
        _ terms: Machine.Voter,
        on context: any ExecutionContext,
        at buckets: Set<Int>? = nil,
        before isAsked: @escaping @Sendable (Motion) -> Bool = { _ in true },
        stopping stop: @escaping @Sendable (_ stopped: @escaping @Sendable () -> Void) -> Void = {
            $0()
        },
        _ body: @escaping @Sendable (Ask) -> Void
    ) -> Registration {
        let member = VoterMember(terms, at: buckets, isAsked: isAsked, body: body)
        return Registration(of: self.register(member, on: context).member, stopping: stop)
    }

    /// The voters who want to be asked about a motion.
    ///
    /// Called under no lock, since it runs their code.
    func voters(on motion: Motion) -> [VoterMember] {
        let buckets = self.holder.withLock { $0.gate.voters.buckets }(motion)
        let voters = self.holder.withLock { $0.gate.voters.voters(at: buckets) }
        return voters.whoWantToBeAsked(about: motion)
    }

    /// Those of the newcomers who want to be asked about a motion as well.
    ///
    /// Called under no lock, since it runs their code.
    func voters(among newcomers: [VoterMember], on motion: Motion) -> [VoterMember] {
        let buckets = self.holder.withLock { $0.gate.voters.buckets }(motion)
        let voters = self.holder.withLock { $0.gate.voters.voters(among: newcomers, at: buckets) }
        return voters.whoWantToBeAsked(about: motion)
    }
}

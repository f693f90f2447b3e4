/// The voters of a gate: some are asked about every motion, the others are found by what it would change.
///
/// Those who are found stand at buckets, which are made of the states that concern them, and a motion is put to
/// those at its numbers and on its stretches who want to be asked. So a proposal costs nothing for each voter that it
/// does not concern. Part of what a machine's lock guards.
struct Electorate: Sendable {
    /// By the numbers of their buckets; nil: those who are asked about every motion.
    private var byNumber: [Int?: [VoterMember]] = [:]
    /// The bounds among the buckets.
    private var bounds = StandingBounds()
    /// Goes up whenever a motion may concern a voter that it did not concern before.
    private(set) var version = 0
    /// The numbers of a motion and, if there are bounds, what it reaches of lines; pure, and called under no lock.
    var search: @Sendable (Motion, _ hasBounds: Bool) -> Found = { _, _ in ([], []) }

    /// What of a motion finds voters.
    typealias Found = (numbers: [Int], stretches: [Stretch])

    /// Whether no motion concerns anybody.
    var isEmpty: Bool { self.byNumber.isEmpty }

    /// Whether somebody stands at a bound.
    var hasBounds: Bool { !self.bounds.isEmpty }

    mutating func add(_ voter: VoterMember) {
        self.version += 1
        self.stand(voter)
    }

    /// Removes a voter, which may have been removed before.
    mutating func remove(_ voter: VoterMember) { _ = self.leave(voter) }

    /// Has a voter stand at other buckets, if it is here; nil: it is asked about every motion.
    mutating func move(_ voter: VoterMember, to buckets: Set<Bucket>?) {
        let isHere = self.leave(voter)
        voter.buckets = buckets
        guard isHere else { return }
        self.version += 1
        self.stand(voter)
    }

    /// The voters at those numbers and on those stretches, each once, and those who are asked about every motion; no more
    /// than `limit` of them.
    func voters(
        at numbers: [Int],
        on stretches: [Stretch] = [],
        atMost limit: Int = .max
    ) -> [VoterMember] {
        var voters = self.byNumber[nil] ?? []
        if voters.count >= limit { return Array(voters.prefix(limit)) }
        var found: Set<ObjectIdentifier> = []
        func find(_ number: Int) {
            for voter in self.byNumber[number] ?? []
            where voters.count < limit && found.insert(ObjectIdentifier(voter)).inserted {
                voters.append(voter)
            }
        }
        for number in numbers { find(number) }
        for stretch in stretches {
            for bucket in self.bounds.buckets(on: stretch) { find(bucket.number) }
        }
        return voters
    }

    /// Those of the voters who are found there, each once.
    func voters(
        among voters: [VoterMember],
        at numbers: [Int],
        on stretches: [Stretch]
    ) -> [VoterMember] {
        var found: Set<ObjectIdentifier> = []
        return voters.filter { voter in
            voter.isListed
                && voter.buckets?.contains { bucket in
                    numbers.contains(bucket.number) || stretches.contains { $0.holds(bucket) }
                } != false && found.insert(ObjectIdentifier(voter)).inserted
        }
    }

    private mutating func stand(_ voter: VoterMember) {
        voter.isListed = true
        guard let buckets = voter.buckets else {
            return self.byNumber[nil, default: []].append(voter)
        }
        for bucket in buckets {
            if self.byNumber[bucket.number] == nil { self.bounds.add(bucket) }
            self.byNumber[bucket.number, default: []].append(voter)
        }
    }

    /// Returns whether it was there.
    private mutating func leave(_ voter: VoterMember) -> Bool {
        guard voter.isListed else { return false }
        voter.isListed = false
        guard let buckets = voter.buckets else {
            _ = self.leave(voter, nil)
            return true
        }
        for bucket in buckets where self.leave(voter, bucket.number) { self.bounds.remove(bucket) }
        return true
    }

    /// Returns whether nobody is left at that number.
    private mutating func leave(_ voter: VoterMember, _ number: Int?) -> Bool {
        self.byNumber[number]?.removeAll { $0 === voter }
        guard self.byNumber[number]?.isEmpty == true else { return false }
        self.byNumber[number] = nil
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
    package func move(to buckets: Set<Bucket>?) {
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
    /// Finds voters that stand at buckets by what is proposed; both closures are pure, and called on any thread.
    ///
    /// - Parameters:
    ///   - numbers: the numbers of a motion.
    ///   - stretches: what it reaches of lines; called only if somebody stands at one.
    package func findVoters(
        at numbers: @escaping @Sendable (Motion) -> [Int],
        on stretches: @escaping @Sendable (Motion) -> [Stretch] = { _ in [] }
    ) {
        let search: @Sendable (Motion, Bool) -> Electorate.Found = { motion, hasBounds in
            (numbers(motion), hasBounds ? stretches(motion) : [])
        }
        // What it replaces is released after the lock.
        _ = self.holder.withLock { exchange(&$0.gate.voters.search, with: search) }
    }

    /// Asks before the state changes, perhaps on behalf of a peer.
    ///
    /// - Parameters:
    ///   - terms: who votes, and for how long it is waited for.
    ///   - context: where it is asked.
    ///   - buckets: where it stands, to be asked about motions that find one of these buckets; nil: about
    ///     every motion.
    ///   - isAsked: pure, and run on the proposing thread; which of those motions it is asked about.
    ///   - stop: ends what its questions have started, and calls its argument once that has ended.
    ///   - body: called with each question, once; it must not block.
    /// - Returns: its registration, with which it moves to other buckets.
    @discardableResult
    package func addVoter(
        _ terms: Machine.Voter,
        on context: any ExecutionContext,
        at buckets: Set<Bucket>? = nil,
        before isAsked: @escaping @Sendable (Motion) -> Bool = { _ in true },
        stopping stop: @escaping @Sendable (_ stopped: @escaping @Sendable () -> Void) -> Void = {
            $0()
        },
        _ body: @escaping @Sendable (Ask) -> Void
    ) -> Registration {
        let member = VoterMember(terms, at: buckets, isAsked: isAsked, body: body)
        return Registration(of: self.register(member, on: context).member, stopping: stop)
    }

    /// What of a motion finds those who are here now.
    private func search(_ motion: Motion) -> Electorate.Found {
        let (search, hasBounds) = self.holder.withLock {
            ($0.gate.voters.search, $0.gate.voters.hasBounds)
        }
        return search(motion, hasBounds)
    }

    /// Some of the voters that stand there, or are asked about every motion: all, if they are fewer than `limit`.
    package func voters(
        at numbers: [Int],
        on stretches: [Stretch],
        atMost limit: Int
    ) -> [Machine.Voter] {
        self.holder.withLock {
            $0.gate.voters.voters(at: numbers, on: stretches, atMost: limit)
        }
        .map(\.terms)
    }

    /// The voters who want to be asked about a motion.
    ///
    /// Called under no lock, since it runs their code.
    func voters(on motion: Motion) -> [VoterMember] {
        let (numbers, stretches) = self.search(motion)
        let voters = self.holder.withLock { $0.gate.voters.voters(at: numbers, on: stretches) }
        return voters.whoWantToBeAsked(about: motion)
    }

    /// Those of the newcomers who want to be asked about a motion as well.
    ///
    /// Called under no lock, since it runs their code.
    func voters(among newcomers: [VoterMember], on motion: Motion) -> [VoterMember] {
        let (numbers, stretches) = self.search(motion)
        let voters = self.holder.withLock {
            $0.gate.voters.voters(among: newcomers, at: numbers, on: stretches)
        }
        return voters.whoWantToBeAsked(about: motion)
    }
}

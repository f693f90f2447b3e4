/// The voters of a gate: some are asked about every motion, the others are found by what it would change.
///
/// Those who are found stand at places, numbers that are made of the states that concern them, and a motion is put to
/// those at its places who want to be asked. So a proposal costs nothing for each voter that it does not
/// concern. Part of what a machine's lock guards.
struct Electorate: Sendable {
    /// Those who are asked about every motion.
    private var everywhere: [VoterMember] = []
    private var placed: [Int: [VoterMember]] = [:]
    /// Goes up whenever a motion may concern a voter that it did not concern before.
    private(set) var version = 0
    /// The places of a motion; pure, and called under no lock.
    var places: @Sendable (Motion) -> [Int] = { _ in [] }

    /// Whether no motion concerns anybody.
    var isEmpty: Bool { self.everywhere.isEmpty && self.placed.isEmpty }

    mutating func add(_ voter: VoterMember) {
        self.version += 1
        self.stand(voter)
    }

    /// Removes a voter, which may have been removed before.
    mutating func remove(_ voter: VoterMember) { _ = self.leave(voter) }

    /// Has a voter stand at other places; nil: it is asked about every motion.
    mutating func move(_ voter: VoterMember, to places: Set<Int>?) {
        let isHere = self.leave(voter)
        voter.places = places
        guard isHere else { return }
        self.version += 1
        self.stand(voter)
    }

    /// The voters at those places, each once, and those who are asked about every motion.
    func voters(at places: [Int]) -> [VoterMember] {
        var voters = self.everywhere
        var found: Set<ObjectIdentifier> = []
        for place in places {
            for voter in self.placed[place] ?? []
            where found.insert(ObjectIdentifier(voter)).inserted { voters.append(voter) }
        }
        return voters
    }

    private mutating func stand(_ voter: VoterMember) {
        voter.isListed = true
        guard let places = voter.places else { return self.everywhere.append(voter) }
        for place in places { self.placed[place, default: []].append(voter) }
    }

    /// Returns whether it was there.
    private mutating func leave(_ voter: VoterMember) -> Bool {
        guard voter.isListed else { return false }
        voter.isListed = false
        guard let places = voter.places else {
            self.everywhere.removeAll { $0 === voter }
            return true
        }
        for place in places {
            self.placed[place]?.removeAll { $0 === voter }
            if self.placed[place]?.isEmpty == true { self.placed[place] = nil }
        }
        return true
    }
}

extension Registration {
    /// From when this returns a voter is found at those places and no others; nil: it is asked about every motion.
    package func move(to places: Set<Int>?) {
        guard let voter = self.member as? VoterMember, let machine = voter.owner as? Machine else {
            return
        }
        machine.holder.withLock { $0.gate.voters.move(voter, to: places) }
    }
}

extension Machine {
    /// Finds voters that stand at places by the places of what is proposed.
    ///
    /// - Parameter places: the places of a motion; pure, and called on any thread.
    package func findVoters(at places: @escaping @Sendable (Motion) -> [Int]) {
        // What it replaces is released after the lock.
        _ = self.holder.withLock { exchange(&$0.gate.voters.places, with: places) }
    }

    /// Asks before the state changes, perhaps on behalf of a peer.
    ///
    /// - Parameters:
    ///   - terms: who votes, and for how long it is waited for.
    ///   - context: where it is asked.
    ///   - places: where it stands, to be asked about motions that have one of these places; nil: about
    ///     every motion.
    ///   - isAsked: pure, and run on the proposing thread; which of those motions it is asked about.
    ///   - stop: ends what its questions have started, and calls its argument once that has ended.
    ///   - body: called with each question, once; it must not block.
    /// - Returns: its registration, with which it moves to other places.
    @discardableResult
    package func addVoter(
        _ terms: Machine.Voter,
        on context: any ExecutionContext,
        at places: Set<Int>? = nil,
        before isAsked: @escaping @Sendable (Motion) -> Bool = { _ in true },
        stopping stop: @escaping @Sendable (_ stopped: @escaping @Sendable () -> Void) -> Void = {
            $0()
        },
        _ body: @escaping @Sendable (Ask) -> Void
    ) -> Registration {
        let member = VoterMember(terms, at: places, isAsked: isAsked, body: body)
        return Registration(of: self.register(member, on: context).member, stopping: stop)
    }

    /// The voters who want to be asked about a motion.
    ///
    /// Called under no lock, since it runs their code.
    func voters(on motion: Motion) -> [VoterMember] {
        let places = self.holder.withLock { $0.gate.voters.places }(motion)
        let voters = self.holder.withLock { $0.gate.voters.voters(at: places) }
        return voters.filter { !$0.isCancelled && $0.isAsked(motion) }
    }
}

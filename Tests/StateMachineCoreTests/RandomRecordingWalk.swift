import Synchronization
import TestSupport

@testable import StateMachineCore

/// Somebody who follows a machine from a moment on.
///
/// Guarded state: what was heard, behind `heard`; the place of the last answer here, behind `answered`.
final class WalkFollower: Sendable {
    let registration: Registration
    let cursor: Drain
    let context: any ExecutionContext
    let start: StateMachineCore.Place
    private let heard: Recorder<Change>
    let answered = Lock<UInt64>(0)

    init(
        _ machine: Machine,
        on context: any ExecutionContext,
        reacting: @escaping @Sendable () -> Void
    ) {
        let heard = Recorder<Change>()
        self.heard = heard
        self.context = context
        (self.registration, self.cursor, self.start) = machine.follow(on: context) {
            heard.record($0)
            reacting()
        }
    }

    var changes: [Change] { self.heard.heard }

    var seq: UInt64 { self.heard.heard.last?.seq ?? self.start.seq }
}

/// A walk of proposals from everywhere, of voters that come and go, and of a log on which nobody can count.
///
/// Guarded state: the lists of who and what there is, each behind a lock of its own.
final class RandomRecordingWalk: Sendable {
    let complaints = Recorder<String>()
    let log: ErraticLog
    let machine: Machine
    let start = StateMachineCore.Place(seq: 0, value: Light.off.value, at: .now, stay: 0)
    let errands: Errands
    let dice: Dice
    private let moments = Moments()

    let bids = Lock<[Bid]>([])
    /// Those that can be withdrawn.
    private let proposals = Lock<[(bid: Bid, proposal: Machine.Proposal)]>([])
    let voters = Lock<[WalkVoter]>([])
    /// Those who were.
    let gone = Lock<[WalkVoter]>([])
    /// Those who stay, and at whose cursors something is answered.
    let followers = Lock<[WalkFollower]>([])
    /// Those who come and go.
    let visitors = Lock<[WalkFollower]>([])
    /// What is answered at no cursor: the place of the last answer.
    private let answered = Lock<UInt64>(0)
    /// Of each recorded voter: what was answered, each time.
    let records = Lock<[[Refusal?]]>([])
    /// Of each noted voter: what was noted last.
    let notes = Lock<[UInt64: String]>([:])
    /// How often all was to be settled, and how often that was said.
    let settling = Lock((asked: 0, said: 0))
    /// How many had been proposed when all was at rest.
    private let rested = Atomic<Int>(0)
    /// What may still be done where something has happened.
    ///
    /// 400: enough to meet every order of two things, and few enough for the walk to end.
    private let reactions = Atomic<Int>(400)
    /// The same where something is being looked at, until all is at rest again.
    private let interruptions = Atomic<Int>(20)
    private let contexts: [any ExecutionContext]
    let isOnSeveralThreads: Bool

    /// A walk on one thread, or on several; `confirms`: whether the log does.
    init(
        seed: UInt64,
        onSeveralThreads isOnSeveralThreads: Bool,
        confirming confirms: Bool = false
    ) {
        self.isOnSeveralThreads = isOnSeveralThreads
        let dice = Dice(seed: seed)
        let errands = Errands(dice)
        self.dice = dice
        self.errands = errands
        self.log = ErraticLog(
            from: self.start,
            dice,
            errands,
            self.moments,
            mayCross: isOnSeveralThreads,
            confirming: confirms,
            complaints: self.complaints
        )
        var options = Machine.Options(proposalLimit: 40)
        options.log = self.log
        self.machine = Machine(resuming: self.start, options: options)
        self.machine.findVoters { [$0.proposed.light.bucket] }
        self.contexts = [Strand(errands), Strand(errands), .immediate]
    }
}

// MARK: - Steps

extension RandomRecordingWalk {
    /// Begins with those who follow at all times.
    func begin() {
        let followers = self.contexts.map { context in
            WalkFollower(self.machine, on: context) { self.react() }
        }
        self.followers.withLock { $0 = followers }
    }

    /// Does anything, on behalf of that setter.
    func step(_ setter: Int) {
        switch self.dice.roll(0..<100) {
        case 0..<22: self.propose(self.asking)
        case 22..<30: self.propose(.assignment)
        case 30..<32: self.propose(.recast)
        case 32..<36: self.record()
        case 36..<39: self.note(setter)
        case 39..<43: self.withdraw()
        case 43..<44: self.settle()
        case 44..<47: self.addVoter()
        case 47..<50: self.endVoter()
        case 50..<54: self.moveVoter()
        case 54..<56: self.visit()
        case 56..<58: self.burst(setter)
        case 58..<62: self.log.moveByOthers(self.machine)
        case 62: self.log.object(to: self.machine)
        default: self.errands.runOne()
        }
    }

    /// Assigns and waits; others have to run errands meanwhile.
    func assign() {
        let bid = self.bid(.assignment)
        let answer = self.machine.assign(bid.move())
        bid.note {
            $0.returned = self.moments.now
            $0.answers.append(answer)
        }
    }

    private var asking: Bid.Kind { .asking(needsYes: self.dice.isOne(in: 6)) }

    /// Whoever is called may do something in turn, now and then.
    private func react() {
        guard self.dice.isOne(in: 8),
            self.reactions.subtract(1, ordering: .sequentiallyConsistent).newValue > 0
        else { return }
        switch self.dice.roll(0..<9) {
        case 0..<2: self.propose(self.asking)
        case 2: self.propose(.assignment)
        case 3: self.withdraw()
        case 4: self.record()
        case 5: self.endVoter()
        case 6: self.moveVoter()
        case 7: self.addVoter()
        default: self.log.moveByOthers(self.machine)
        }
    }

    /// Voters may come and move, and others may move the machine, while another thread evaluates a proposal or asks its
    /// proposer once more: on one thread that happens within, where code has to be pure otherwise.
    private func interrupt(_ bid: Bid, onceIn count: Int) {
        // Where there is no voter, who comes now may be too late.
        guard !self.isOnSeveralThreads, self.machine.hasVoters, self.dice.isOne(in: count),
            self.interruptions.subtract(1, ordering: .sequentiallyConsistent).newValue > 0
        else { return }
        switch self.dice.roll(0..<6) {
        case 0..<2: self.addVoter()
        case 2..<4: self.moveVoter()
        case 4: self.endVoter()
        default: self.log.moveByOthers(self.machine)
        }
        bid.note { $0.undecided.append(self.moments.now) }
    }

    /// Runs all that is left to do, after which all is answered and the machine is where the log is.
    func rest() {
        self.runAll()
        for bid in self.bids.withLock({ $0 }).dropFirst(self.rested.load(ordering: .relaxed))
        where bid.outcome.answers.isEmpty {
            self.complaints.record("\(bid.number) is not answered though all is at rest")
        }
        self.rested.store(self.bids.withLock { $0.count }, ordering: .relaxed)
        if self.machine.place.seq != self.log.changes.count {
            self.complaints.record("the machine is not where the log is though all is at rest")
        }
        self.interruptions.store(20, ordering: .sequentiallyConsistent)
    }

    /// Runs all that is left to do, and has the machine told of all that has happened.
    func runAll() {
        repeat { while self.errands.runOne() {} } while self.log.tellAll(self.machine)
    }

    /// Nothing more is done by anybody who is called.
    func endReactions() {
        self.reactions.store(0, ordering: .sequentiallyConsistent)
        self.interruptions.store(0, ordering: .sequentiallyConsistent)
    }

    private func bid(_ kind: Bid.Kind) -> Bid {
        let light = self.dice.pick(of: Light.allCases) ?? .off
        let aim: Bid.Aim =
            switch self.dice.roll(0..<8) {
            case 0..<4: .state(light, reenter: self.dice.isOne(in: 2))
            case 4..<6: .next
            case 6: .keep(light)
            default: .nothing
            }
        let condition: Bid.Condition =
            switch self.dice.roll(0..<8) {
            case 0: .seq(self.machine.place.seq + UInt64(self.dice.roll(0..<3)))
            case 1..<3: .mostSeqs
            default: .none
            }
        return self.bids.withLock { bids in
            let bid = Bid(bids.count, kind, aim, if: condition, from: self.moments.now)
            bid.note { $0.head = UInt64(self.log.changes.count) }
            bids.append(bid)
            return bid
        }
    }

    @discardableResult
    func propose(_ kind: Bid.Kind, isLimited: Bool? = nil) -> Bid {
        let bid = self.bid(kind)
        let question: Question? =
            switch kind {
            case .asking(let needsYes):
                Question(
                    needingYes: needsYes,
                    deadline: nil,
                    whenNobodyVotes: self.dice.isOne(in: 12) ? .no("nobody is there") : .yes
                )
            case .assignment, .recast: nil
            }
        let follower =
            self.dice.isOne(in: 2) ? self.dice.pick(of: self.followers.withLock { $0 }) : nil
        let proposal = self.machine.propose(
            bid.move { self.interrupt(bid, onceIn: 3) },
            asking: question,
            at: follower?.cursor,
            isLimited: isLimited ?? !self.dice.isOne(in: 4)
        ) { self.answered($0, to: bid, at: follower) }
        bid.note { $0.returned = self.moments.now }
        self.proposals.withLock { proposals in
            // 60: so that some have been answered for long, and some wait.
            if proposals.count == 60 { proposals.removeFirst() }
            proposals.append((bid, proposal))
        }
        return bid
    }

    private func answered(_ answer: Move.Answer, to bid: Bid, at follower: WalkFollower?) {
        bid.note { $0.answers.append(answer) }
        if let follower, follower.seq < answer.place.seq {
            self.complaints.record("\(bid.number) was answered before its cursor had come so far")
        }
        if answer.isInTurn {
            let last =
                follower?.answered.withLock { exchange(&$0, with: answer.place.seq) }
                ?? self.answered.withLock { exchange(&$0, with: answer.place.seq) }
            if last > answer.place.seq {
                self.complaints.record("\(bid.number) was answered after what came later")
            }
        }
        self.react()
    }

    private func withdraw() {
        guard let (bid, proposal) = self.dice.pick(of: self.proposals.withLock { $0 }) else {
            return
        }
        bid.note { $0.isWithdrawn = true }
        if self.dice.isOne(in: 3) {
            self.machine.withdraw(ifWaiting: proposal)
        } else {
            self.machine.withdraw(proposal)
            bid.note { $0.withdrawn = min($0.withdrawn, self.moments.now) }
        }
    }

    private func burst(_ setter: Int) {
        let (isNew, _) = self.machine.beginGathering()
        for _ in 0..<self.dice.roll(1..<12) {
            switch self.dice.roll(0..<12) {
            case 0: self.record()
            case 1: self.withdraw()
            case 2: self.note(setter)
            case 3: self.errands.runOne()
            default: self.propose(self.asking)
            }
        }
        if isNew { self.machine.endGathering() }
    }

    private func settle() {
        self.settling.withLock { $0.asked += 1 }
        self.machine.afterCommits(at: self.dice.pick(of: self.followers.withLock { $0 })?.cursor) {
            self.settling.withLock { $0.said += 1 }
        }
    }

    func record() {
        let index = self.records.withLock { records in
            records.append([])
            return records.count - 1
        }
        let isAtCursor = self.dice.isOne(in: 2)
        self.machine.record(
            [.voter(.walking(UInt64(index), name: "held"))],
            at: isAtCursor ? self.dice.pick(of: self.followers.withLock { $0 })?.cursor : nil
        ) { refusal in
            self.records.withLock { $0[index].append(refusal) }
            self.react()
        }
    }

    /// Notes something of one of the voters that are that setter's own.
    private func note(_ setter: Int) {
        let number = UInt64(1_000_000 + setter * 10 + self.dice.roll(0..<4))
        let record: Record =
            self.dice.isOne(in: 3)
            ? .voterEnded(number) : .voter(.walking(number, name: "\(self.moments.now)"))
        self.notes.withLock { $0[number] = record.text }
        self.machine.note(record)
    }

    /// Somebody else begins to follow, or one of them ends.
    private func visit() {
        guard self.dice.isOne(in: 2) else {
            self.dice.pick(of: self.visitors.withLock { $0 })?.registration.cancel()
            return
        }
        let context = self.dice.pick(of: self.contexts) ?? .immediate
        let visitor = WalkFollower(self.machine, on: context) {}
        self.visitors.withLock { $0.append(visitor) }
    }

    /// The registrations of all who have one.
    func endAll() {
        for voter in self.voters.withLock({ $0 }) {
            voter.guarded.withLock { $0.registration }?.cancel()
        }
        for follower in self.followers.withLock({ $0 }) + self.visitors.withLock({ $0 }) {
            follower.registration.cancel()
        }
    }
}

// MARK: - Voters

extension RandomRecordingWalk {
    private var someStates: Set<Light> {
        Set(Light.allCases.filter { _ in self.dice.isOne(in: 3) })
    }

    func addVoter() {
        let all = Set(Light.allCases)
        let habit: WalkVoter.Habit =
            switch self.dice.roll(0..<10) {
            case 0..<2: .denies
            case 2..<5: .agrees
            default: .varies
            }
        let isEverywhere = self.dice.isOne(in: 3)
        let voter = WalkVoter(
            "voter \(self.moments.now)",
            habit,
            wanting: habit == .denies ? self.someStates : all,
            at: isEverywhere ? all : self.someStates
        )
        let context = self.dice.pick(of: self.contexts) ?? .immediate
        let follower = self.followers.withLock { $0 }.first { $0.context === context }
        let isLate = self.dice.isOne(in: 2)
        let registration = self.machine.addVoter(
            Machine.Voter(label: voter.name),
            on: context,
            at: isEverywhere
                ? nil : Set(voter.guarded.withLock { $0.place }.map { Bucket($0.bucket) }),
            before: { motion in
                if let number = Int(motion.cause ?? "") {
                    self.interrupt(self.bids.withLock { $0[number] }, onceIn: 15)
                }
                return voter.wanted.contains(motion.proposed.light)
            },
            { self.ask($0, voter, isLate: isLate, following: follower) }
        )
        voter.began(registration, at: self.moments.now)
        self.voters.withLock { $0.append(voter) }
    }

    private func ask(
        _ ask: Ask,
        _ voter: WalkVoter,
        isLate: Bool,
        following follower: WalkFollower?
    ) {
        let motion = ask.motion
        let number = Int(motion.cause ?? "") ?? -1
        let asked = WalkVoter.Asked(
            number: number,
            seq: motion.current.seq,
            state: motion.proposed.light
        )
        let bid = self.bids.withLock { $0[number] }
        let began = bid.outcome.began
        let (isConcerned, isFirst) = voter.guarded.withLock { guarded in
            guarded.asked.insert(asked)
            return (
                guarded.places.contains(asked.state) && voter.wanted.contains(asked.state),
                guarded.covers.contains {
                    $0.state == asked.state && $0.from < began && $0.to == .max
                }
            )
        }
        if !isConcerned {
            self.complaints.record("\(voter.name) was asked about what does not concern it")
        }
        // Who comes while others are asked may have heard of what makes the question stale.
        if let follower,
            isFirst
                ? follower.seq != motion.current.seq : follower.seq < motion.current.seq
        {
            self.complaints.record("\(voter.name) was asked when it had not heard all, or too much")
        }
        self.react()
        let draw = voter.habit == .varies ? self.dice.roll(0..<20) : 0
        let vote: Vote? =
            switch (voter.habit, draw) {
            case (.denies, _): .no("denied")
            case (.agrees, _), (.varies, 0..<11): .yes
            case (.varies, 11..<15): .abstain
            case (.varies, 15..<18): .no("drawn")
            case (.varies, _): nil
            }
        let cast: @Sendable () -> Void = {
            guard let vote else { return withExtendedLifetime(ask) {} }
            let now = self.moments.now
            let wasOvertaken = !self.isOnSeveralThreads && self.isOvertaken(asked.seq)
            guard ask.vote(vote) else { return }
            bid.note { $0.undecided.append(now) }
            if wasOvertaken {
                self.complaints.record("a vote on \(number) counts, which was put anew")
            }
            if ask.vote(.yes) { self.complaints.record("a second vote of \(voter.name) counts") }
        }
        if isLate { self.errands.add(cast) } else { cast() }
    }

    /// Whether the machine was moved from there by others than an assignment, which leaves a question open.
    private func isOvertaken(_ seq: UInt64) -> Bool {
        let here = self.machine.place.seq
        guard here > seq, let cause = self.log.changes.prefix(Int(here)).last?.cause else {
            return false
        }
        return Int(cause).map { self.bids.withLock { $0 }[$0].kind.index != 1 } ?? true
    }

    private func endVoter() {
        guard let voter = self.dice.pick(of: self.voters.withLock { $0 }),
            let registration = voter.leave(for: nil, at: self.moments.now)
        else { return }
        self.voters.withLock { $0.removeAll { $0 === voter } }
        self.gone.withLock { $0.append(voter) }
        switch self.dice.roll(0..<4) {
        case 0: registration.cancel(voting: .no("it has gone"))
        case 1: registration.cancel(voting: .yes)
        default: registration.cancel()
        }
    }

    private func moveVoter() {
        guard let voter = self.dice.pick(of: self.voters.withLock { $0 }) else { return }
        let isEverywhere = self.dice.isOne(in: 5)
        let place = isEverywhere ? Set(Light.allCases) : self.someStates
        guard let registration = voter.leave(for: place, at: self.moments.now) else { return }
        registration.move(to: isEverywhere ? nil : Set(place.map { Bucket($0.bucket) }))
        voter.arrived(at: place, at: self.moments.now)
    }
}

extension KeptVoter {
    fileprivate static func walking(_ number: UInt64, name: String) -> KeptVoter {
        KeptVoter(number: number, name: name, peer: Peer(uid: 0, pid: 0), request: [], since: .now)
    }
}

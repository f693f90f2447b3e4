import TestSupport
import Testing

@testable import StateMachineCore

/// Whatever a log answers, and whoever comes and goes meanwhile, the gate keeps what it promises.
@Suite(.bounded) struct RandomRecordingTests {
    /// On one thread, where all is the same for the same seed.
    @Test(arguments: Chance.seeds(6)) func theGateBearsALogThatErrs(seed: UInt64) {
        let walk = RandomRecordingWalk(seed: seed, onSeveralThreads: false)
        walk.begin()
        for step in 1...Chance.steps(3000) {
            walk.step(0)
            if step.isMultiple(of: 40) { walk.rest() }
        }
        walk.end("seed \(seed)")
    }

    /// Others have moved the machine, and it does not know yet.
    @Test(arguments: Chance.seeds(3)) func nobodyIsAnsweredByWhatIsOutOfDate(seed: UInt64) {
        let walk = RandomRecordingWalk(seed: seed, onSeveralThreads: false, confirming: true)
        walk.begin()
        for step in 1...Chance.steps(3000) {
            walk.step(0)
            if step.isMultiple(of: 40) { walk.rest() }
        }
        walk.end("seed \(seed), confirming")
    }

    @Test(arguments: Chance.seeds(3)) func theGateBearsItOnSeveralThreads(seed: UInt64) async {
        let walk = RandomRecordingWalk(seed: seed, onSeveralThreads: true)
        walk.begin()
        let running = Lock(3)
        await onThreads(4) { setter in
            guard setter < 3 else {
                // Waits for the log each time, and so for the others.
                for _ in 0..<Chance.steps(800) / 10 { walk.assign() }
                return walk.errands.end()
            }
            for _ in 0..<Chance.steps(800) { walk.step(setter) }
            let isLast = running.withLock { running in
                running -= 1
                return running == 0
            }
            if isLast { walk.errands.runAllUntilTheirEnd() }
        }
        walk.end("seed \(seed), several threads")
    }
}

extension RandomRecordingWalk {
    /// Runs what is left, and looks at what has become of all.
    fileprivate func end(_ name: String) {
        self.endReactions()
        self.log.becomeReliable()
        self.runAll()
        // What is noted goes with what is recorded; what comes last is answered if nothing is stuck.
        let last = self.propose(.asking(needsYes: false), isLimited: false)
        self.record()
        while self.errands.runOne() {}
        if last.outcome.answers.count != 1 { self.complaints.record("the gate is stuck") }
        self.endAll()
        while self.errands.runOne() {}
        let findings = Findings(self)
        for complaint in (self.complaints.heard + findings.all).prefix(10) {
            Issue.record("\(name): \(complaint)")
        }
    }
}

/// What is not as promised.
private struct Findings {
    private(set) var all: [String] = []
    private let walk: RandomRecordingWalk
    private let changes: [Change]
    private let bids: [(bid: Bid, outcome: Bid.Outcome)]

    init(_ walk: RandomRecordingWalk) {
        self.walk = walk
        self.changes = walk.log.changes
        self.bids = walk.bids.withLock { $0 }.map { ($0, $0.outcome) }
        self.lookAtTheLog()
        self.lookAtFollowers()
        self.lookAtAnswers()
        self.lookAtOrder()
        self.lookAtVoters()
        self.lookAtRecords()
        if walk.log.confirms { self.lookAtConfirmation() }
        // Elsewhere a thread may have it in its hands, on the way to the log.
        if !walk.isOnSeveralThreads { self.lookAtWithdrawals() }
    }

    private mutating func find(_ what: String, unless isFine: Bool) {
        if !isFine { self.all.append(what) }
    }

    /// Where the machine was at that seq; nil if it was not.
    private func place(at seq: UInt64) -> StateMachineCore.Place? {
        if seq == 0 { return self.walk.start }
        return seq > self.changes.count ? nil : self.changes[Int(seq) - 1].place
    }

    // MARK: - What happened

    private mutating func lookAtTheLog() {
        var place = self.walk.start
        for change in self.changes {
            self.find(
                "\(change.place.shown) does not follow \(place.shown)",
                unless: change.follows(place)
            )
            place = change.place
        }
        let here = self.walk.machine.place
        self.find(
            "the machine is at \(here.shown), and not at \(place.shown)",
            unless: here.seq == place.seq && here.value.equals(place.value)
                && here.stay == place.stay
        )
        self.find(
            "the gate takes it that the log has a group",
            unless: self.walk.machine.groupUnderWay == nil
        )
    }

    /// Each hears all that the log has, once and in order, from where it began.
    private mutating func lookAtFollowers() {
        let stayed = self.walk.followers.withLock { $0 }
        for follower in stayed + self.walk.visitors.withLock({ $0 }) {
            let heard = follower.changes
            let expected = self.changes.dropFirst(Int(follower.start.seq)).prefix(heard.count)
            self.find(
                "a follower from \(follower.start.seq) on heard something else",
                unless: heard.count == expected.count
                    && zip(heard, expected).allSatisfy {
                        $0.seq == $1.seq && $0.cause == $1.cause && $0.old.equals($1.old)
                            && $0.new.equals($1.new)
                    }
            )
        }
        for follower in stayed {
            self.find(
                "one who stayed heard \(follower.changes.count) of \(self.changes.count) changes",
                unless: follower.changes.count == self.changes.count
            )
        }
    }

    // MARK: - What was answered

    private mutating func lookAtAnswers() {
        let own = Dictionary(grouping: self.changes) { Int($0.cause ?? "") ?? -1 }
        for (bid, outcome) in self.bids {
            guard outcome.answers.count == 1, let answer = outcome.answers.first else {
                self.find(
                    "\(bid.number) was answered \(outcome.answers.count) times",
                    unless: false
                )
                continue
            }
            let made = own[bid.number] ?? []
            let text = "\(bid.number), \(bid.kind) \(bid.aim) if \(bid.condition): \(answer.shown)"
            switch answer {
            case .success(.committed(let change)):
                self.find(
                    "\(text), which the log does not have",
                    unless: made.count == 1 && made.first?.seq == change.seq
                        && made.first?.new.equals(change.new) == true
                )
            case .failure(let refused) where refused.reason.isUnsure:
                self.find("\(text), and it happened \(made.count) times", unless: made.count <= 1)
            case .success(.unchanged), .failure:
                self.find("\(text), and it happened", unless: made.isEmpty)
            }
            for change in made {
                self.find("\(text), not as asked", unless: self.is(change, as: bid))
            }
            if answer.isInTurn {
                let isThere = self.place(at: answer.place.seq)?.value.equals(answer.place.value)
                self.find("\(text), where it never was", unless: isThere == true)
                self.find("\(text), without a reason", unless: self.isRight(answer, for: bid))
            }
            if case .failure(let refused) = answer {
                self.find(
                    "\(text), which nothing calls for",
                    unless: self.isCalledFor(refused, by: outcome)
                )
            }
        }
        let settling = self.walk.settling.withLock { $0 }
        self.find(
            "something was not settled, or twice",
            unless: settling.asked == settling.said
        )
    }

    /// Whether the change is what was asked for where it was made.
    private func `is`(_ change: Change, as bid: Bid) -> Bool {
        let (old, new) = (change.old.light, change.new.light)
        if case .recast = bid.kind {
            guard case .state(let light, _) = bid.aim else { return false }
            return new == light && !change.beginsStay
        }
        guard bid.condition.isMet(at: change.seq - 1) else { return false }
        return switch bid.aim {
        case .state(let light, let reenter):
            new == light && change.beginsStay
                && (old == new ? reenter : change.old.mayBecome(change.new))
        case .next: new == old.next && change.beginsStay
        case .keep(let light): new == light && old != new && !change.beginsStay
        case .nothing: false
        }
    }

    /// Whether an answer by which nothing happened is right at the place that it names.
    private func isRight(_ answer: Move.Answer, for bid: Bid) -> Bool {
        let (seq, light) = (answer.place.seq, answer.place.value.light)
        switch answer {
        case .success(.committed): return true
        case .success(.unchanged):
            if case .recast = bid.kind { return true }
            guard bid.condition.isMet(at: seq) else { return false }
            return switch bid.aim {
            case .state(let wanted, let reenter): light == wanted && !reenter
            case .next: false
            case .keep(let wanted): light == wanted
            case .nothing: true
            }
        case .failure(let refused):
            guard case .state(let wanted, _) = bid.aim, refused.reason == .illegal else {
                if refused.reason == .conflict { return !bid.condition.isMet(at: seq) }
                if case .asking = bid.kind { return bid.condition.isMet(at: seq) }
                return false
            }
            return light != wanted && !light.value.mayBecome(wanted.value)
        }
    }

    /// Whether a refusal that no state and no vote leads to has another reason.
    private func isCalledFor(_ refused: Refused, by outcome: Bid.Outcome) -> Bool {
        switch refused.reason {
        case .withdrawn: outcome.isWithdrawn
        case .stale:
            // What others do has the question put anew.
            self.changes.prefix(Int(refused.current.seq)).last.flatMap { Int($0.cause ?? "") }
                .map { self.bids[$0].bid.kind.index == 1 } ?? false
        case .wouldWait: false
        case .illegal, .conflict, .denied, .notCommitted, .unsure, .overloaded: true
        }
    }

    /// What was withdrawn before the log had it never gets there.
    private mutating func lookAtWithdrawals() {
        for (change, at) in self.walk.log.given {
            guard let number = Int(change.cause ?? "") else { continue }
            self.find(
                "\(number) was committed though it had been withdrawn",
                unless: at < self.bids[number].outcome.withdrawn
            )
        }
    }

    /// An answer that says how it is with the machine says no less than had happened, by whomever, when it was asked for.
    private mutating func lookAtConfirmation() {
        for (bid, outcome) in self.bids {
            // That a state looks the same by another declaration is nobody else's.
            if case .recast = bid.kind { continue }
            guard let answer = outcome.answers.first, answer.isInTurn else { continue }
            self.find(
                "\(bid.number): \(answer.shown), when \(outcome.head) had happened",
                unless: answer.place.seq >= outcome.head
            )
        }
    }

    // MARK: - Order

    /// What had been proposed before something else of its kind began has been decided at no later place.
    private mutating func lookAtOrder() {
        for kind in 0..<3 {
            let decided = self.bids.compactMap { bid, outcome -> (Bid, Bid.Outcome, Move.Answer)? in
                guard bid.kind.index == kind, let answer = outcome.answers.first, answer.isInTurn
                else {
                    return nil
                }
                return (bid, outcome, answer)
            }
            let returned = decided.sorted { $0.1.returned < $1.1.returned }
            var (index, latest) = (0, UInt64(0))
            for (bid, outcome, answer) in decided.sorted(by: { $0.1.began < $1.1.began }) {
                while index < returned.count, returned[index].1.returned < outcome.began {
                    latest = max(latest, returned[index].2.place.seq)
                    index += 1
                }
                self.find(
                    "\(bid.number), a \(bid.kind), was decided at \(answer.place.seq), after \(latest)",
                    unless: latest <= answer.place.seq
                )
            }
        }
    }

    // MARK: - Voters

    /// Whoever was there before something was proposed, or is asked about and undecided, and still is when the log is asked
    /// to commit it, was asked about that very change, and has not denied it.
    private mutating func lookAtVoters() {
        let voters = (self.walk.voters.withLock { $0 } + self.walk.gone.withLock { $0 })
            .map { ($0, $0.guarded.withLock { $0 }) }
        for (change, at) in self.walk.log.given {
            guard let number = Int(change.cause ?? ""),
                case .asking(false) = self.bids[number].bid.kind
            else { continue }
            let outcome = self.bids[number].outcome
            let asked = WalkVoter.Asked(
                number: number,
                seq: change.seq - 1,
                state: change.new.light
            )
            let isAsked = voters.contains { $0.1.asked.contains(asked) }
            let undecided = isAsked ? outcome.undecided.filter { $0 < at }.max() ?? 0 : 0
            let latest = max(outcome.began, undecided)
            for (voter, guarded) in voters {
                let covers = guarded.covers.contains {
                    $0.state == asked.state && $0.from < latest && at < $0.to
                }
                guard covers else { continue }
                self.find(
                    "\(voter.name) was not asked about \(number): \(change.place.shown)",
                    unless: guarded.asked.contains(asked)
                )
                self.find(
                    "\(voter.name) denies \(number): \(change.place.shown)",
                    unless: voter.habit != .denies
                )
            }
        }
    }

    // MARK: - Records

    private mutating func lookAtRecords() {
        for (number, answers) in self.walk.records.withLock({ $0 }).enumerated() {
            let count = self.walk.log.voter(UInt64(number))?.count ?? 0
            switch answers.count == 1 ? answers[0] : nil {
            case nil where answers.count == 1:
                self.find("voter \(number) was recorded \(count) times", unless: count == 1)
            case nil:
                self.find("voter \(number) was answered \(answers.count) times", unless: false)
            case .some: self.find("voter \(number) was recorded after all", unless: count == 0)
            }
        }
        for (number, noted) in self.walk.notes.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            let recorded = self.walk.log.voter(number)?.record
            self.find(
                "of voter \(number) the log has \(recorded ?? "nothing"), and not \(noted)",
                unless: recorded == noted
            )
        }
    }
}

extension Refusal {
    fileprivate var isUnsure: Bool { if case .unsure = self { true } else { false } }
}

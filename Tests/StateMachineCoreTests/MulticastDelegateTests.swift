import Dispatch
import StateMachineCore
import StateMachineTesting
import Synchronization
import TestSupport
import Testing

private protocol EnemyWatching: AnyObject, Sendable {
    func appeared(_ enemy: String, at place: Int)
}

private protocol Permitting: AnyObject, Sendable {
    func mayQuit() -> Vote
}

private protocol Filtering: AnyObject, Sendable {
    func outgoing(_ text: String) -> String?
}

/// Responds to one of the facets only.
private final class Watcher: EnemyWatching {
    let seen: Recorder<String>

    init(_ seen: Recorder<String> = Recorder()) {
        self.seen = seen
    }

    func appeared(_ enemy: String, at place: Int) { self.seen.record("\(enemy) \(place)") }
}

private final class Permitter: Permitting {
    private let vote: Vote

    init(_ vote: Vote) {
        self.vote = vote
    }

    func mayQuit() -> Vote { self.vote }
}

private final class Filter: Filtering {
    private let change: @Sendable (String) -> String?

    init(_ change: @escaping @Sendable (String) -> String?) {
        self.change = change
    }

    func outgoing(_ text: String) -> String? { self.change(text) }
}

@Suite(.bounded) struct MulticastDelegateTests {
    private let clock = ManualClock()
    private let unheard = Recorder<String>()
    private let delegates: MulticastDelegate<AnyObject>

    init() {
        let unheard = self.unheard
        self.delegates = MulticastDelegate(clock: self.clock) { unheard.record($0) }
    }

    /// Asks those who permit; what becomes of it is recorded.
    private func ask(
        _ put: @escaping @Sendable (any Permitting, @escaping @Sendable (Vote) -> Void) -> Void
    ) -> Recorder<[Vote.Denial]> {
        let verdicts = Recorder<[Vote.Denial]>()
        self.delegates.ask((any Permitting).self, put: put) { verdicts.record($0) }
        return verdicts
    }

    @Test func implementingIsSubscribingAndOthersAreSkipped() {
        let (watcher, permitter) = (Watcher(), Permitter(.yes))
        self.delegates.add(watcher, on: .immediate)
        self.delegates.add(permitter, on: .immediate)
        let count = self.delegates.broadcast((any EnemyWatching).self) {
            $0.appeared("dragon", at: 7)
        }
        #expect(count == 1)
        #expect(watcher.seen.heard == ["dragon 7"])
        #expect(self.delegates.count(of: (any EnemyWatching).self) == 1)
        #expect(self.unheard.heard.isEmpty)
    }

    @Test func everybodyIsCalledInOrderOfRegistrationOnItsOwnContext() async {
        let seen = Recorder<String>()
        let watchers = (0..<8).map { _ in Watcher(seen) }
        let queue = DispatchQueue(label: "one")
        for watcher in watchers { self.delegates.add(watcher, on: .queue(queue)) }
        for place in 0..<3 {
            self.delegates.broadcast((any EnemyWatching).self) { $0.appeared("orc", at: place) }
        }
        #expect(
            await seen.wait(for: 24)
                == (0..<3).flatMap { Array(repeating: "orc \($0)", count: 8) }
        )
    }

    @Test func allContextsAgreeOnTheOrderOfBroadcasts() async {
        let watchers = (0..<4).map { _ in Watcher() }
        for (index, watcher) in watchers.enumerated() {
            self.delegates.add(watcher, on: .queue(DispatchQueue(label: "\(index)")))
        }
        let delegates = self.delegates
        await onThreads(4) { thread in
            for place in 0..<100 {
                delegates.broadcast((any EnemyWatching).self) {
                    $0.appeared("\(thread)", at: place)
                }
            }
        }
        var orders: Set<[String]> = []
        for watcher in watchers { orders.insert(await watcher.seen.wait(for: 400)) }
        #expect(orders.count == 1)
    }

    @Test func aPairIsThereOnceAndAnObjectMayBeThereOnSeveralContexts() async {
        let watcher = Watcher()
        let queue = DispatchQueue(label: "other")
        self.delegates.add(watcher, on: .immediate)
        self.delegates.add(watcher, on: .immediate)
        self.delegates.add(watcher, on: .queue(queue))
        #expect(
            self.delegates.broadcast((any EnemyWatching).self) { $0.appeared("elf", at: 1) } == 2
        )
        await watcher.seen.wait(for: 2)
    }

    @Test func removingFromOneContextOrFromAll() async {
        let watcher = Watcher()
        let queue = DispatchQueue(label: "other")
        self.delegates.add(watcher, on: .immediate)
        self.delegates.add(watcher, on: .queue(queue))
        self.delegates.remove(watcher, on: .queue(queue))
        #expect(self.delegates.count(of: (any EnemyWatching).self) == 1)
        self.delegates.remove(watcher)
        #expect(self.delegates.count(of: (any EnemyWatching).self) == 0)
    }

    @Test func whoIsRemovedIsNotCalledThoughTheBroadcastCameBefore() async {
        let watcher = Watcher()
        let held = HeldQueue()
        let registration = self.delegates.add(watcher, on: held.context)
        self.delegates.broadcast((any EnemyWatching).self) { $0.appeared("ghost", at: 0) }
        await registration.cancelAndWait()
        held.open()
        #expect(await self.unheard.wait(for: 1) == ["\((any EnemyWatching).self)"])
        #expect(watcher.seen.heard.isEmpty)
    }

    @Test func aBroadcastThatNobodyRespondsToIsReported() {
        #expect(self.delegates.broadcast((any EnemyWatching).self) { $0.appeared("x", at: 0) } == 0)
        #expect(self.unheard.heard == ["\((any EnemyWatching).self)"])
    }

    @Test func delegatesAreHeldWeaklyUnlessAskedOtherwise() {
        let seen = Recorder<String>()
        do {
            self.delegates.add(Watcher(seen), on: .immediate)
            self.delegates.add(Watcher(seen), on: .immediate, retaining: true)
        }
        #expect(self.delegates.count(of: (any EnemyWatching).self) == 1)
        self.delegates.broadcast((any EnemyWatching).self) { $0.appeared("troll", at: 3) }
        #expect(seen.heard == ["troll 3"])
    }

    @Test func aDelegateMayAddRemoveAndBroadcastInItsCallback() {
        let delegates = self.delegates
        let late = Watcher()
        let second = Permitter(.yes)
        let first = Watcher()
        delegates.add(first, on: .immediate)
        delegates.broadcast((any EnemyWatching).self) { watcher in
            delegates.add(late, on: .immediate)
            delegates.add(second, on: .immediate)
            delegates.remove(watcher)
            delegates.broadcast((any EnemyWatching).self) { $0.appeared("nested", at: 2) }
            watcher.appeared("outer", at: 1)
        }
        #expect(first.seen.heard == ["outer 1"])
        #expect(late.seen.heard == ["nested 2"])
    }

    @Test func anyNoWins() async {
        let voters = [Permitter(.yes), Permitter(.no("unsaved")), Permitter(.yes)]
        for (index, voter) in voters.enumerated() {
            let queue = DispatchQueue(label: "\(index)")
            self.delegates.add(voter, on: .queue(queue), label: "voter \(index)")
        }
        let verdict = await self.delegates.ask((any Permitting).self) { $0.mayQuit() }
        #expect(verdict == [Vote.Denial(label: "voter 1", why: "unsaved")])
    }

    @Test func anyYesSufficesAndNobodysYesIsANo() async {
        let voters = [Permitter(.abstain), Permitter(.no("not me"))]
        for voter in voters { self.delegates.add(voter, on: .immediate, label: "v") }
        let question = Question(needingYes: true, whenNobodyVotes: .no("nobody took it"))
        let refused = await self.delegates.ask((any Permitting).self, question) { $0.mayQuit() }
        #expect(refused == [Vote.Denial(label: "v", why: "not me")])
        let taker = Permitter(.yes)
        self.delegates.add(taker, on: .immediate)
        let taken = await self.delegates.ask((any Permitting).self, question) { $0.mayQuit() }
        #expect(taken == [])
    }

    @Test func whenNobodyIsThereTheDefaultAnswersAtOnce() {
        #expect(self.ask { $1($0.mayQuit()) }.heard == [[]])
    }

    @Test func aSilentVoterIsWaitedForUntilTheDeadlineAndItsLateVoteDoesNotCount() async {
        let voter = Permitter(.no("late"))
        self.delegates.add(voter, on: .immediate)
        let replies = Recorder<@Sendable (Vote) -> Void>()
        let verdicts = self.ask { replies.record($1) }
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(1))
        #expect(await verdicts.wait(for: 1) == [[]])
        replies.heard.first?(.no("late"))
        #expect(verdicts.heard.count == 1)
    }

    @Test func aReplyThatIsLetGoOfAbstains() {
        let voter = Permitter(.no("x"))
        self.delegates.add(voter, on: .immediate)
        #expect(self.ask { _, _ in }.heard == [[]])
    }

    @Test func theAskersQueueIsNotBlockedThoughTheVoterNeedsIt() async {
        let queue = DispatchQueue(label: "shared")
        let voter = Permitter(.no("busy"))
        self.delegates.add(voter, on: .queue(queue), label: "v")
        let verdicts = Recorder<[Vote.Denial]>()
        let order = Recorder<String>()
        let delegates = self.delegates
        queue.async {
            delegates.ask(
                (any Permitting).self,
                put: {
                    order.record("asked")
                    $1($0.mayQuit())
                },
                completion: { verdicts.record($0) }
            )
            order.record("the asker goes on")
        }
        #expect(await verdicts.wait(for: 1) == [[Vote.Denial(label: "v", why: "busy")]])
        #expect(order.heard == ["the asker goes on", "asked"])
    }

    /// Each delegate's vote waits until the other's has begun.
    @Test func delegatesAreAskedAtTheSameTime() async {
        let gates = [TestSupport.Gate(), TestSupport.Gate()]
        let voters = [Permitter(.yes), Permitter(.yes)]
        for (index, voter) in voters.enumerated() {
            self.delegates.add(voter, on: .queue(DispatchQueue(label: "\(index)")))
        }
        let verdict = await self.delegates.ask((any Permitting).self) { voter in
            let own = voter === voters[0] ? 0 : 1
            gates[own].open()
            gates[1 - own].pass()
            return voter.mayQuit()
        }
        #expect(verdict == [])
    }

    @Test func amendingGoesFromOneToTheNextAndNilSuppresses() async {
        let filters = [Filter { $0 + "a" }, Filter { $0 + "b" }, Filter { $0 == "mab" ? nil : $0 }]
        for (index, filter) in filters.enumerated() {
            let queue = DispatchQueue(label: "\(index)")
            self.delegates.add(filter, on: .queue(queue))
        }
        let passed = await self.delegates.amend((any Filtering).self, "n") { $0.outgoing($1) }
        let suppressed = await self.delegates.amend((any Filtering).self, "m") { $0.outgoing($1) }
        #expect(passed == "nab")
        #expect(suppressed == nil)
    }

    @Test func aCancelledQuestionEndsAndItsVotesDoNotCount() async {
        let held = HeldQueue()
        let voters = [Permitter(.yes), Permitter(.yes)]
        self.delegates.add(voters[0], on: held.context)
        self.delegates.add(voters[1], on: .immediate)
        let delegates = self.delegates
        let asked = Recorder<Void>()
        let task = Task {
            await delegates.ask((any Permitting).self) { voter -> Vote in
                asked.record(())
                return voter.mayQuit()
            }
        }
        await asked.wait(for: 1)
        task.cancel()
        #expect(await task.value == [.withdrawn])
        held.open()
        // A later question is not affected.
        #expect(await delegates.ask((any Permitting).self) { $0.mayQuit() } == [])
    }

    @Test func aCancelledAmendmentEndsAndNobodyElseIsAsked() async {
        let held = HeldQueue()
        let (asked, woken) = (Recorder<String>(), Recorder<String>())
        let context = WatchedContext(woken: { job in
            held.queue.async(execute: job)
            woken.record("b")
        })
        let filters = ["a", "b", "c"].map { name in
            Filter {
                asked.record(name)
                return $0 + name
            }
        }
        self.delegates.add(filters[0], on: .immediate)
        self.delegates.add(filters[1], on: context)
        self.delegates.add(filters[2], on: .immediate)
        let delegates = self.delegates
        let question = Question(deadline: nil)
        let task = Task {
            await delegates.amend((any Filtering).self, "x", question) { $0.outgoing($1) }
        }
        await woken.wait(for: 1)
        task.cancel()
        #expect(await task.value == nil)
        held.open()
        #expect(
            await delegates.amend((any Filtering).self, "y", question) { $0.outgoing($1) } == "yabc"
        )
        // The one that was being waited for is still asked at its turn; its answer is lost.
        #expect(asked.heard.sorted() == ["a", "a", "b", "b", "c"])
    }

    /// Nothing tells when an object goes, so a question without a deadline looks.
    @Test func aDelegateThatGoesWhileItsContextIsStuckIsWaitedForNoLonger() async {
        let clock = ManualClock()
        let delegates = MulticastDelegate<AnyObject>(clock: clock)
        let held = HeldQueue()
        var dying: Listener? = Listener()
        if let dying { delegates.add(dying, on: held.context) }
        let verdicts = Recorder<[Vote.Denial]>()
        delegates.ask(
            (any StateDelegate).self,
            Question(deadline: nil),
            put: { $1(.no("it is there")) },
            completion: { verdicts.record($0) }
        )
        let values = Recorder<Int?>()
        let amended = Task.immediate {
            values.record(
                await delegates.amend((any StateDelegate).self, 1, Question(deadline: nil)) {
                    $1 + 1
                }
            )
        }
        await clock.sleepers(2)
        dying = nil
        clock.advance(by: .seconds(1))
        #expect(await verdicts.wait(for: 1) == [[]])
        #expect(await values.wait(for: 1) == [1])
        await amended.value
        held.open()
    }

    /// An event that can be put in again.
    private struct Round: Sendable {
        let receptionist: EventReceptionist<Round>

        func begin() { self.receptionist.receive(self) }
    }

    /// As with a machine: it calls for a while, and then leaves the rest to the next one.
    @Test(arguments: [false, true])
    func whoBroadcastsReturnsThoughOthersKeepBroadcasting(byHand: Bool) async {
        // Without another that takes over, one broadcast would make so many calls.
        let endless = 1_000_000
        let called = Atomic<Int>(0)
        let hasReturned = Atomic<Bool>(false)
        let (begun, joined) = (TestSupport.Gate(), TestSupport.Gate())
        // Each call makes another, so that something is always left to call.
        let isNextWanted = { @Sendable in
            let count = called.add(1, ordering: .sequentiallyConsistent).newValue
            if count == 1 {
                begun.open()
                joined.pass()
            }
            return count < endless && !hasReturned.load(ordering: .sequentiallyConsistent)
        }
        let delegates = MulticastDelegate<AnyObject>()
        let receiver = Calling { _ in
            if isNextWanted() { delegates.broadcast(Calling.self) { $0.stateChanged() } }
        }
        delegates.add(receiver, on: .immediate)
        let receptionist = EventReceptionist<Round>(on: .immediate) { batch in
            for round in batch.values where isNextWanted() { round.begin() }
        }
        let broadcast = { @Sendable in
            if byHand {
                Round(receptionist: receptionist).begin()
            } else {
                delegates.broadcast(Calling.self) { $0.stateChanged() }
            }
        }
        let callsByThen = Recorder<Int>()
        await onThreads(2) { thread in
            if thread == 0 {
                broadcast()
                callsByThen.record(called.load(ordering: .sequentiallyConsistent))
                hasReturned.store(true, ordering: .sequentiallyConsistent)
                return
            }
            begun.pass()
            joined.open()
            while !hasReturned.load(ordering: .sequentiallyConsistent) { broadcast() }
        }
        // A turn's share, and what it calls until somebody has come to take over.
        #expect(callsByThen.heard.allSatisfy { (256..<endless).contains($0) })
        #expect(callsByThen.heard.count == 1)
    }

    @Test func addingWhatDoesNotConformTrapsWithItsType() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            MulticastDelegate<any EnemyWatching>().add(Permitter(.yes), on: .immediate)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("Permitter was added as a delegate, but does not conform"))
    }

    @Test(arguments: [false, true])
    func aDelegateThatIsRemovedIsWaitedForNoLonger(beforeItIsAsked: Bool) async {
        let delegates = MulticastDelegate<AnyObject>()
        let queue = DispatchQueue(label: "asked")
        let asked = Listener()
        let registration = delegates.add(asked, on: .queue(queue))
        let replies = Recorder<@Sendable (Vote) -> Void>()
        let verdicts = Recorder<[Vote.Denial]>()
        if beforeItIsAsked { queue.suspend() }
        delegates.ask(
            (any StateDelegate).self,
            Question(deadline: nil),
            put: { replies.record($1) },
            completion: { verdicts.record($0) }
        )
        if beforeItIsAsked {
            delegates.remove(asked)
        } else {
            await replies.wait(for: 1)
            registration.cancel()
        }
        #expect(await returns { await verdicts.wait(for: 1) })
        #expect(verdicts.heard == [[]])
        if beforeItIsAsked { queue.resume() }
    }

    @Test func aDelegateThatIsRemovedAmendsNothing() async {
        let delegates = MulticastDelegate<AnyObject>()
        let queue = DispatchQueue(label: "asked")
        let asked = Listener()
        delegates.add(asked, on: .queue(queue))
        queue.suspend()
        defer { queue.resume() }
        let amended = Task.immediate {
            await delegates.amend((any StateDelegate).self, 1, Question(deadline: nil)) { $1 + 1 }
        }
        await others()
        delegates.remove(asked)
        let values = Recorder<Int?>()
        #expect(await returns { values.record(await amended.value) })
        #expect(values.heard == [1])
    }
}

/// Does what a test wants when it is called.
private final class Calling: Sendable {
    private let body: @Sendable (Calling) -> Void

    init(_ body: @escaping @Sendable (Calling) -> Void) { self.body = body }

    func stateChanged() { self.body(self) }
}

import Dispatch
import Glibc
import StateMachineCore
import StateMachineTesting
import TestSupport
import Testing

private protocol Hearing: AnyObject, Sendable {
    func hear(_ number: Int)
}

private final class Hearer: Hearing {
    let heard: Recorder<String>
    private let name: String
    private let gate: TestSupport.Gate?

    init(_ heard: Recorder<String>, name: String = "", waitingAt gate: TestSupport.Gate? = nil) {
        self.heard = heard
        self.name = name
        self.gate = gate
    }

    func hear(_ number: Int) {
        self.gate?.pass()
        self.heard.record("\(self.name)\(number)")
    }

    func callsMissed(_ count: Int) { self.heard.record("\(self.name)missed \(count)") }
}

/// Uses the multicast delegate when it is deallocated.
private final class Parting: Hearing {
    private let delegates: MulticastDelegate<AnyObject>

    init(_ delegates: MulticastDelegate<AnyObject>) {
        self.delegates = delegates
    }

    func hear(_ number: Int) {}

    deinit { _ = self.delegates.count(of: (any Hearing).self) }
}

/// Seconds after which a child that hangs is ended; otherwise it takes a moment.
private let deadline: UInt32 = 30

/// How a multicast delegate uses its delegates' contexts, with no lock held while client code runs.
@Suite(.bounded) struct MulticastContextTests {
    @Test func aContextMayUseTheDelegatesWhenItsIdentityIsAsked() async {
        await #expect(processExitsWith: .success) {
            alarm(deadline)
            let delegates = MulticastDelegate<AnyObject>()
            let context = WatchedContext(asked: {
                _ = delegates.count(of: (any Hearing).self)
            })
            let hearer = Hearer(Recorder())
            delegates.add(hearer, on: context).cancel()
            delegates.add(hearer, on: context)
            delegates.remove(hearer, on: context)
            _exit(0)
        }
    }

    /// Checking whether a delegate is still there may hold the last reference to it.
    @Test func aDelegateMayUseTheDelegatesWhenItGoes() async {
        await #expect(processExitsWith: .success) {
            alarm(deadline)
            let delegates = MulticastDelegate<AnyObject>()
            let hearer = Hearer(Recorder())
            await onThreads(2) { thread in
                for _ in 0..<20_000 {
                    if thread == 0 {
                        delegates.add(Parting(delegates), on: .immediate)
                    } else {
                        delegates.add(hearer, on: .immediate).cancel()
                    }
                }
            }
            _exit(0)
        }
    }

    @Test func contextsAreWokenInOrderOfRegistrationAndImmediateLast() {
        let heard = Recorder<String>()
        let delegates = MulticastDelegate<AnyObject>()
        let hearer = Hearer(heard)
        delegates.add(hearer, on: .immediate)
        let contexts = (0..<16).map { number in
            WatchedContext { _ in heard.record("context \(number)") }
        }
        let others = contexts.map { _ in Hearer(Recorder()) }
        for (context, other) in zip(contexts, others) { delegates.add(other, on: context) }
        delegates.broadcast((any Hearing).self) { $0.hear(7) }
        #expect(heard.heard == (0..<16).map { "context \($0)" } + ["7"])
    }

    @Test func aStuckContextKeepsSoManyCallsAndItsDelegatesAreToldWhatTheyMissed() async {
        let heard = Recorder<String>()
        let gate = TestSupport.Gate()
        let queue = DispatchQueue(label: "stuck")
        let unheard = Recorder<String>()
        let delegates = MulticastDelegate<AnyObject>(
            callLimit: 3,
            unheard: { unheard.record($0) },
            missed: { ($0 as? Hearer)?.callsMissed($1) }
        )
        let early = Hearer(heard, name: "early ")
        let late = Hearer(heard, name: "late ")
        queue.async { gate.pass() }
        delegates.add(early, on: .queue(queue))
        for number in 1...4 { delegates.broadcast((any Hearing).self) { $0.hear(number) } }
        delegates.add(late, on: .queue(queue))
        for number in 5...8 { delegates.broadcast((any Hearing).self) { $0.hear(number) } }
        // The calls that were dropped count as unheard.
        #expect(unheard.heard.count == 5)
        gate.open()
        #expect(
            await heard.wait(for: 8) == [
                "early missed 5", "late missed 1",
                "early 6", "late 6", "early 7", "late 7", "early 8", "late 8",
            ]
        )
        delegates.broadcast((any Hearing).self) { $0.hear(9) }
        #expect(await heard.wait(for: 10).suffix(2) == ["early 9", "late 9"])
    }

    /// For a delegate that blocks in its callback, no more is kept either.
    @Test func aContextThatIsStuckInACallKeepsNoMore() async {
        let heard = Recorder<String>()
        let gate = TestSupport.Gate()
        let begun = Recorder<Void>()
        let delegates = MulticastDelegate<AnyObject>(
            callLimit: 2,
            missed: { ($0 as? Hearer)?.callsMissed($1) }
        )
        let hearer = Hearer(heard, waitingAt: gate)
        delegates.add(hearer, on: .queue(DispatchQueue(label: "stuck")))
        delegates.broadcast((any Hearing).self) {
            begun.record(())
            $0.hear(0)
        }
        await begun.wait(for: 1)
        for number in 1...10 { delegates.broadcast((any Hearing).self) { $0.hear(number) } }
        gate.open()
        #expect(await heard.wait(for: 4) == ["0", "missed 8", "9", "10"])
    }

    @Test func whoIsAskedAndHasNoRoomForTheQuestionIsNotWaitedFor() async {
        let held = HeldQueue()
        let delegates = MulticastDelegate<AnyObject>(clock: ManualClock(), callLimit: 1)
        let hearer = Hearer(Recorder())
        delegates.add(hearer, on: held.context)
        let verdicts = Recorder<[Vote.Denial]>()
        delegates.ask(
            (any Hearing).self,
            Question(whenNobodyVotes: .no("nobody")),
            put: { $1(.yes) },
            completion: { verdicts.record($0) }
        )
        delegates.broadcast((any Hearing).self) { $0.hear(1) }
        #expect(verdicts.heard == [[Vote.Denial(label: "nobody", why: "nobody")]])
        held.open()
    }

    @Test func aDelegateThatWasHeldIsLetGoOfByItsCancelling() {
        let delegates = MulticastDelegate<AnyObject>()
        let seen = Recorder<String>()
        weak var held: Hearer?
        let registration: Registration
        do {
            let hearer = Hearer(seen)
            held = hearer
            registration = delegates.add(hearer, on: .immediate, retaining: true)
        }
        #expect(held != nil)
        registration.cancel()
        #expect(held == nil)
    }

    /// Even without broadcasts and removals, delegates that are gone do not pile up.
    @Test func delegatesThatAreGoneLeaveWithoutBeingCalledFor() {
        let delegates = MulticastDelegate<AnyObject>()
        weak var context: WatchedContext?
        do {
            let place = WatchedContext()
            context = place
            delegates.add(Hearer(Recorder()), on: place)
        }
        for _ in 0..<200 { delegates.add(Hearer(Recorder()), on: .immediate) }
        #expect(context == nil)
    }
}

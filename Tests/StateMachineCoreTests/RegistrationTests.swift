import Dispatch
import Glibc
import TestSupport
import Testing

@testable import StateMachineCore

@Suite struct RegistrationTests {
    /// The list of contexts keeps its order, and is not searched from end to end.
    @Test func cancellingOneOfManyContextsCostsLittleForEachOfThem() {
        func cost(of count: Int) -> Double {
            let machine = StateMachine<AppState>()
            let registrations = (0..<count).map { _ in
                machine.addObserver(on: WatchedContext()) { _ in }
            }
            let start = processorTime()
            for registration in registrations { registration.cancel() }
            return processorTime() - start
        }
        // 8 times as many: 64 times the cost if each is looked for among all of them.
        #expect(cost(of: 16_000) < 24 * cost(of: 2_000))
    }

    @Test func aFlushWaitsForWhatIsStillToBeToldOfAMachineThatHasGone() async {
        let held = HeldQueue()
        let heard = Recorder<String>()
        var machine: StateMachine<AppState>? = StateMachine<AppState>()
        let registration = machine?.addReceptionist(
            on: held.context,
            selecting: { $0.seq },
            delivering: .settled(after: .seconds(3600)),
            task: { for seq in $0.values { heard.record("\(seq)") } }
        )
        machine?.churn(3)
        machine = nil
        registration?.flush()
        held.open()
        await passed(held.queue)
        await passed(held.queue)
        #expect(heard.heard == ["3"])
    }

    @Test func anyNumberOfFlushesOfAQueueThatIsBehindCostsNoMoreThanThatNumber() async {
        await #expect(processExitsWith: .success) {
            withinAMinute {
                let held = HeldQueue()
                let machine = StateMachine<AppState>()
                let registration = machine.addReceptionist(
                    on: held.context,
                    selecting: { $0.seq },
                    delivering: .settled(after: .seconds(3600))
                ) { _ in }
                // If each cost what there are of them, half an hour.
                for _ in 0..<300_000 { registration.flush() }
                held.open()
                held.queue.sync {}
            }
        }
    }

    @Test func delegatesThatAreGoneAreForgottenAlthoughNothingHappens() {
        let machine = StateMachine<AppState>()
        let held = HeldQueue()
        for _ in 0..<10_000 { machine.addDelegate(Listener(), on: held.context) }
        let members = machine.machine.holder.withLock { $0.audience.drains }.flatMap(\.allMembers)
        #expect(members.count <= 128)
        held.open()
    }

    private static let queue = DispatchQueue(label: "one")

    /// Different objects for a queue are one place.
    @Test(
        arguments: [
            (.immediate, .immediate), (.queue(queue), .queue(queue)),
            (.queue(.main), .queue(DispatchQueue.main)),
        ] as [(any ExecutionContext, any ExecutionContext)]
    )
    func addingAPairTwiceTellsItOnce(
        first: any ExecutionContext,
        second: any ExecutionContext
    ) async {
        let machine = StateMachine<AppState>()
        let listener = Listener()
        machine.addDelegate(listener, on: first, starting: .current)
        let again = machine.addDelegate(listener, on: second, starting: .current)
        machine.churn(1)
        await machine.flush()
        #expect(listener.seqs == [0, 1])
        again.cancel()
        machine.churn(2)
        await machine.flush()
        #expect(listener.seqs == [0, 1])
        #expect(DispatchQueue(label: "never a context").isCurrent == nil)
    }

    @Test func oneDelegateMayListenOnSeveralContexts() async {
        let machine = StateMachine<AppState>()
        let listener = Listener()
        machine.addDelegate(listener)
        machine.addDelegate(listener, on: .queue(DispatchQueue(label: "other")))
        machine.churn(1)
        await machine.flush()
        #expect(listener.seqs == [1, 1])
    }

    @Test func removingFromOneContextLeavesTheOthers() async {
        let machine = StateMachine<AppState>()
        let listener = Listener()
        let queue = DispatchQueue(label: "kept")
        machine.addDelegate(listener)
        machine.addDelegate(listener, on: .queue(queue))
        machine.removeDelegate(listener, on: .immediate)
        machine.churn(1)
        await machine.flush()
        #expect(listener.seqs == [1])
        machine.removeDelegate(listener)
        machine.churn(2)
        await machine.flush()
        #expect(listener.seqs == [1])
    }

    @Test func aCancelledRegistrationHearsNothingMore() async {
        let machine = StateMachine<AppState>()
        let held = HeldQueue()
        let listener = Listener()
        let registration = machine.addDelegate(listener, on: held.context)
        // Another listener keeps the drain, so the cancelled one still stands before what it missed.
        let other = Listener()
        machine.addDelegate(other, on: held.context)
        machine.churn(10)
        registration.cancel()
        registration.cancel()
        held.open()
        await machine.flush()
        held.queue.sync {}
        #expect(listener.seqs.isEmpty)
        #expect(other.seqs.count == 10)
    }

    @Test func whoIsCancelledByTheOneBeforeItIsNotToldOfTheSameTransition() {
        let machine = StateMachine<AppState>()
        let later = Recorder<Registration>()
        let first = Listener { _ in for registration in later.heard { registration.cancel() } }
        let second = Listener()
        machine.addDelegate(first)
        later.record(machine.addDelegate(second))
        machine.churn(2)
        #expect(first.seqs == [1, 2])
        #expect(second.seqs.isEmpty)
    }

    @Test func afterCancelAndWaitNoCallIsRunning() async {
        let machine = StateMachine<AppState>()
        let begun = Recorder<Void>()
        let order = Recorder<String>()
        let gate = Gate()
        let listener = Listener { _ in
            begun.record(())
            gate.pass()
            order.record("the call has ended")
        }
        let queue = DispatchQueue(label: "busy")
        let registration = machine.addDelegate(listener, on: .queue(queue))
        machine.churn(5)
        await begun.wait(for: 1)
        registration.cancel()
        async let quiet: Void = {
            await registration.cancelAndWait()
            order.record("nothing is running")
        }()
        gate.open()
        await quiet
        #expect(order.heard == ["the call has ended", "nothing is running"])
        #expect(listener.seqs == [1])
    }

    @Test func aWeakDelegateThatDiesIsSkippedAndNoLongerCounted() async {
        let machine = StateMachine<AppState>()
        let heard = Heard()
        do {
            let listener = Listener(heard)
            machine.addDelegate(listener)
            machine.churn(1)
        }
        machine.churn(2)
        #expect(heard.heard.map(\.seq) == [1])
        #expect(machine.responders(to: .ready) == 0)
    }

    @Test func aWeakDelegateWhoseLastReferenceIsTheCallsDiesOnItsOwnContext() async {
        final class Dying: StateDelegate {
            let begun = Recorder<Void>()
            let gate = Gate()
            let died: Recorder<Bool>
            let queue: DispatchQueue
            init(_ died: Recorder<Bool>, _ queue: DispatchQueue) {
                self.died = died
                self.queue = queue
            }
            func stateChanged(_ transition: Transition<AppState>) {
                self.begun.record(())
                self.gate.pass()
            }
            deinit {
                let context: DispatchQueue = .queue(self.queue)
                self.died.record(context.isCurrent == true)
            }
        }
        let machine = StateMachine<AppState>()
        let died = Recorder<Bool>()
        let queue = DispatchQueue(label: "its own")
        var delegate: Dying? = Dying(died, queue)
        guard let (begun, gate) = delegate.map({ ($0.begun, $0.gate) }) else { return }
        if let delegate { machine.addDelegate(delegate, on: .queue(queue)) }
        machine.churn(1)
        await begun.wait(for: 1)
        delegate = nil
        gate.open()
        #expect(await died.wait(for: 1) == [true])
    }

    @Test(arguments: WayToListen.allCases, Place.allCases)
    func whatListensIsKeptUntilItIsCancelled(_ way: WayToListen, on place: Place) async {
        let machine = StateMachine<AppState>()
        let heard = Heard()
        weak var listener: Listener?
        let registration: Registration
        do {
            let strong = Listener(heard)
            listener = strong
            registration = way.begin(strong, with: machine, on: place.context)
        }
        machine.churn(1)
        await machine.flush()
        #expect(heard.heard.count == 1)
        #expect(listener != nil)
        await registration.cancelAndWait()
        #expect(listener == nil)
        withExtendedLifetime(registration) {}
    }

    @Test func theMachineDoesNotKeepAWeakDelegateAlive() {
        let machine = StateMachine<AppState>()
        weak var listener: Listener?
        do {
            let strong = Listener()
            listener = strong
            machine.addDelegate(strong)
        }
        #expect(listener == nil)
        machine.churn(1)
    }

    @Test func manyUnreadEntriesAreReleasedWithoutRecursion() async {
        let held = HeldQueue()
        let heard = Recorder<Void>()
        do {
            let machine = StateMachine<AppState>()
            let registration = machine.addObserver(on: held.context) { _ in heard.record(()) }
            // Several times as many as there is room for frames on a queue thread's stack.
            machine.churn(200_000)
            registration.cancel()
        }
        held.open()
        held.queue.sync {}
        #expect(heard.heard.isEmpty)
    }

    /// This includes the filter, which the setting thread calls.
    @Test func whoWaitsForAReceptionistAtTheSourceWaitsForItsFilter() async {
        let machine = StateMachine<AppState>()
        let gate = Gate()
        let (began, ended) = (Recorder<Void>(), Recorder<String>())
        let registration = machine.addReceptionist(
            on: .queue(DispatchQueue(label: "target")),
            selecting: { transition -> UInt64? in
                began.record(())
                gate.pass()
                ended.record("filter")
                return transition.seq
            },
            atSource: true,
            task: { _ in }
        )
        // Not a task: the filter blocks its thread, of which tasks have few.
        async let setting: Void = onThreads(1) { _ in machine.state = .ready(true) }
        await began.wait(for: 1)
        // The wait has begun before the filter goes on, or the test would show nothing.
        let waiting = Task.immediate {
            await registration.cancelAndWait()
            ended.record("wait")
        }
        gate.open()
        await waiting.value
        await setting
        #expect(ended.heard == ["filter", "wait"])
    }

    /// The registration may be stored in an object that its task captures.
    @Test(arguments: [false, true])
    func aReceptionistsRegistrationKeepsNothingAliveOnceItIsCancelled(_ atSource: Bool) {
        final class Desk: Sendable {
            let registration = Lock<Registration?>(nil)
        }
        let machine = StateMachine<AppState>()
        weak var weak: Desk?
        do {
            let desk = Desk()
            weak = desk
            let registration = machine.addReceptionist(
                on: .immediate,
                selecting: { [desk] transition in withExtendedLifetime(desk) { transition.seq } },
                atSource: atSource,
                delivering: .batch(every: .seconds(3600), atMost: 10),
                task: { [desk] _ in withExtendedLifetime(desk) {} }
            )
            desk.registration.withLock { $0 = registration }
            machine.state = .ready(true)
            registration.cancel()
        }
        #expect(weak == nil)
    }
}

/// Of the calling thread, in seconds.
private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

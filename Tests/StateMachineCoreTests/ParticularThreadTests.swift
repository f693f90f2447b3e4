import Dispatch
import Glibc
import StateMachineCore
import TestSupport
import Testing

private protocol Appearing: AnyObject, Sendable { func appeared(_ name: String) }
private protocol Vanishing: AnyObject, Sendable { func vanished(_ name: String) }

private final class Watcher: Appearing, Vanishing {
    private let seen: @Sendable (String) -> Void

    init(_ seen: @escaping @Sendable (String) -> Void) {
        self.seen = seen
    }

    func appeared(_ name: String) { self.seen("\(name) appeared") }
    func vanished(_ name: String) { self.seen("\(name) vanished") }
}

/// The guarantees about delivery on particular threads, and on other contexts along the way.
@Suite(.bounded) struct ParticularThreadTests {
    /// The kernel's counter holds no more than this; a sender that waited for room would wait for
    /// ever.
    @Test func aFullCounterHoldsNoSenderUp() async {
        let heard = Recorder<Int>()
        await onThreads(1) { _ in
            let thread = NotificationThread.adoptingCurrentThread()
            #expect(Self.add(.max - 1, to: thread.descriptor))
            #expect(!Self.add(1, to: thread.descriptor) && errno == EAGAIN)
            let sent = DispatchSemaphore(value: 0)
            DispatchQueue(label: "sender").async {
                thread.enqueue { heard.record(1) }
                sent.signal()
            }
            sent.wait()
            #expect(Self.isReadable(thread.descriptor))
            thread.drain()
        }
        #expect(heard.heard == [1])
    }

    /// Sent after the loop has looked and before it waits again.
    @Test func aWakeUpBetweenTwoRunsOfAForeignLoopIsNotLost() async {
        let heard = Recorder<Int>()
        await onThreads(1) { _ in
            let thread = NotificationThread.adoptingCurrentThread()
            for run in 0..<10 {
                thread.drain()
                #expect(!Self.isReadable(thread.descriptor))
                let sent = DispatchSemaphore(value: 0)
                DispatchQueue(label: "sender").async {
                    thread.enqueue { heard.record(run) }
                    sent.signal()
                }
                sent.wait()
                #expect(Self.isReadable(thread.descriptor))
            }
            thread.drain()
        }
        #expect(heard.heard == Array(0..<10))
    }

    /// Adds to the kernel's counter, as a sender does.
    private static func add(_ count: UInt64, to descriptor: CInt) -> Bool {
        var count = count
        return write(descriptor, &count, MemoryLayout<UInt64>.size) == MemoryLayout<UInt64>.size
    }

    private static func isReadable(_ descriptor: CInt) -> Bool {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wait, 1, 0) == 1
    }

    @Test func oneThreadIsToldForManyObjectsInManyWays() async throws {
        let thread = NotificationThread(name: "many")
        let heard = Recorder<String>()
        let strangers = Recorder<String>()
        let note: @Sendable (String) -> Void = { what in
            if thread.isCurrent != true { strangers.record(what) }
            heard.record(what)
        }
        let machine = StateMachine<AppState>()
        let listeners = ["a", "b"].map { name in Listener { _ in note("delegate \(name)") } }
        for listener in listeners { machine.addDelegate(listener, on: thread) }
        machine.addObserver(on: thread) { _ in note("observer") }
        let cursor = machine.follow(on: thread) { _ in note("receptionist") }
        machine.addVoter(label: "v", on: thread) {
            note("voter")
            $0.vote(.yes)
        }
        try await machine.propose(.ready(true))
        let delegates = MulticastDelegate<AnyObject>()
        let watcher = Watcher(note)
        delegates.add(watcher, on: thread)
        delegates.broadcast((any Appearing).self) { $0.appeared("orc") }
        delegates.broadcast((any Vanishing).self) { $0.vanished("orc") }
        let told = await heard.wait(for: 7)
        #expect(
            told == [
                "voter", "delegate a", "delegate b", "observer", "receptionist",
                "orc appeared", "orc vanished",
            ]
        )
        #expect(strangers.heard.isEmpty)
        cursor.registration.cancel()
        thread.stop()
    }

    @Test func manyObserversOfOneContextWakeItOnce() async {
        let machine = StateMachine<AppState>()
        let (woken, queue) = (Recorder<Void>(), DispatchQueue(label: "counted"))
        let context = WatchedContext { job in
            woken.record(())
            queue.async(execute: job)
        }
        let order = Recorder<Int>()
        for index in 0..<100 {
            machine.addObserver(on: context) { _ in order.record(index) }
        }
        machine.churn(1)
        #expect(woken.heard.count == 1)
        #expect(await order.wait(for: 100) == Array(0..<100))
    }

    /// The frame and its references are gone; the task keeps what it captured until it is closed.
    @Test func whatTheTaskNeedsOutlivesTheFrameThatMadeIt() async {
        let machine = StateMachine<AppState>()
        let heard = Recorder<String>()
        weak var needed: Watcher?
        func takeUpPost() -> Registration {
            let watcher = Watcher { heard.record($0) }
            needed = watcher
            return machine.addReceptionist(
                on: .queue(DispatchQueue(label: "task")),
                selecting: { $0.seq },
                task: {
                    for seq in $0.values { watcher.appeared("\(seq)") }
                }
            )
        }
        let receptionist = takeUpPost()
        await onThreads(1) { _ in machine.churn(2) }
        #expect(await heard.wait(for: 2) == ["1 appeared", "2 appeared"])
        #expect(needed != nil)
        await receptionist.cancelAndWait()
        #expect(needed == nil)
    }

    /// The entry is the filter, on the setting thread; the task runs on its context.
    @Test func theEntryRunsOnTheSettingThreadAndTheTaskOnItsContext() async {
        let machine = StateMachine<AppState>()
        let setter: DispatchQueue = .queue(DispatchQueue(label: "setter"))
        let target = DispatchQueue(label: "target")
        let places = Recorder<String>()
        let receptionist = machine.addReceptionist(
            on: .queue(target),
            selecting: { transition -> UInt64 in
                places.record(setter.isCurrent == true ? "entry" : "?")
                return transition.seq
            },
            atSource: true,
            task: { _ in
                places.record(target.isCurrent == true ? "task" : "?")
            }
        )
        target.suspend()
        setter.sync { machine.churn(2) }
        #expect(places.heard == ["entry", "entry"])
        target.resume()
        #expect(await places.wait(for: 4) == ["entry", "entry", "task", "task"])
        receptionist.cancel()
    }

    @Test func addingAPairFromManyThreadsTellsItOnce() async {
        let machine = StateMachine<AppState>()
        let listener = Listener()
        let queue = DispatchQueue(label: "its own")
        await onThreads(4) { _ in
            for _ in 0..<100 { machine.addDelegate(listener, on: .queue(queue)) }
        }
        #expect(machine.responders(to: .ready) == 1)
        machine.churn(1)
        await machine.flush()
        #expect(listener.seqs == [1])
    }

    @Test func whoIsPastTheLimitIsToldWhereTheMachineWasAfterWhatItMissed() async {
        final class Late: StateDelegate {
            let told = Recorder<[UInt64]>()
            func stateChanged(_ transition: Transition<AppState>) {
                self.told.record([transition.seq])
            }
            func transitionsMissed(_ count: Int, now: Snapshot<AppState>) {
                self.told.record([UInt64(count), now.seq])
            }
        }
        let machine = StateMachine<AppState> { $0.laneLimit = 10 }
        let held = HeldQueue()
        let late = Late()
        machine.addDelegate(late, on: held.context)
        machine.churn(100)
        held.open()
        await machine.flush()
        var expected: UInt64 = 0
        for told in late.told.heard {
            if told.count == 2 {
                expected += told[0]
                #expect(told[1] == expected)
            } else {
                expected += 1
                #expect(told == [expected])
            }
        }
        #expect(expected == 100)
        #expect(late.told.heard.contains { $0.count == 2 })
    }

    /// A queue finds the mark of the queue it targets, unless it has one of its own.
    @Test func aQueueThatTargetsAContextIsThatContextUnlessItIsOneItself() {
        let queue = DispatchQueue(label: "target")
        let context: DispatchQueue = .queue(queue)
        let plain = DispatchQueue(label: "plain", target: queue)
        let marked = DispatchQueue(label: "marked", target: queue)
        let own: DispatchQueue = .queue(marked)
        #expect(queue.sync { context.isCurrent } == true)
        #expect(plain.sync { context.isCurrent } == true)
        #expect(marked.sync { context.isCurrent } == false)
        #expect(marked.sync { own.isCurrent } == true)
        #expect(context.isCurrent == false)
    }
}

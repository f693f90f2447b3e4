import Dispatch
import Foundation
import TestSupport
import Testing

@testable import StateMachineCore

@Suite(.bounded) struct NotificationThreadTests {
    @Test func everythingRunsOnTheThreadInTheOrderSent() async {
        let thread = NotificationThread(name: "fifo")
        let order = Recorder<Int>()
        let strangers = Recorder<Void>()
        for index in 0..<1000 {
            thread.enqueue {
                if thread.isCurrent != true { strangers.record(()) }
                order.record(index)
            }
        }
        #expect(await order.wait(for: 1000) == Array(0..<1000))
        #expect(strangers.heard.isEmpty)
        #expect(thread.isCurrent == false)
        thread.stop()
    }

    @Test func aNotificationFromTheThreadItselfDoesNotOvertakeTheQueue() async {
        let thread = NotificationThread(name: "no shortcut")
        let machine = StateMachine<AppState>()
        let listener = Listener { transition in
            if transition.seq == 1 { machine.state = .dataRetrieval(.failure) }
        }
        let gate = Gate()
        thread.enqueue { gate.pass() }
        machine.addDelegate(listener, on: thread)
        machine.state = .authentication(.active)
        machine.state = .ready(true)
        gate.open()
        await listener.heard.wait(for: 3)
        #expect(listener.seqs == [1, 2, 3])
        thread.stop()
    }

    @Test func aWakeUpSentBeforeTheThreadWaitsIsNotLost() async {
        let heard = Recorder<Int>()
        await onThreads(1) { _ in
            let thread = NotificationThread.adoptingCurrentThread()
            thread.enqueue { heard.record(1) }
            thread.enqueue { thread.stop() }
            thread.run()
        }
        #expect(heard.heard == [1])
    }

    @Test func manyWakeUpsMayMergeIntoOneAndASpuriousOneIsHarmless() async {
        let counts = Recorder<Int>()
        await onThreads(1) { _ in
            let thread = NotificationThread.adoptingCurrentThread()
            let count = Lock(0)
            for _ in 0..<100 { thread.enqueue { count.withLock { $0 += 1 } } }
            thread.drain()
            counts.record(count.withLock { $0 })
            thread.drain()
            counts.record(count.withLock { $0 })
        }
        #expect(counts.heard == [100, 100])
    }

    @Test func aForeignLoopCanWaitForTheDescriptor() async {
        let heard = Recorder<Int>()
        await onThreads(1) { _ in
            let thread = NotificationThread.adoptingCurrentThread()
            let sender = DispatchQueue(label: "sender")
            sender.async { for index in 0..<10 { thread.enqueue { heard.record(index) } } }
            while heard.heard.count < 10 {
                var wait = pollfd(fd: thread.descriptor, events: Int16(POLLIN), revents: 0)
                poll(&wait, 1, -1)
                thread.drain()
            }
        }
        #expect(heard.heard == Array(0..<10))
    }

    private static let hour = Duration.seconds(3600)

    @Test(.enabled(if: Processors.areSeveral, "it never lingers on a single processor"))
    func aThreadThatLingersSeesWhatComes() async {
        let thread = NotificationThread(name: "patient")
        let heard = Recorder<String>()
        thread.enqueue {
            DispatchQueue.global().async { thread.enqueue { heard.record("what comes") } }
            var spin = AdaptiveSpin(timeout: Self.hour)
            thread.linger(&spin)
            heard.record("end of the wait")
        }
        #expect(await heard.wait(for: 2) == ["end of the wait", "what comes"])
        thread.stop()
    }

    @Test func aThreadThatHasLingeredInVainIsWokenAgain() async {
        let thread = NotificationThread(name: "hasty")
        let heard = Recorder<String>()
        thread.enqueue {
            var spin = AdaptiveSpin(timeout: .zero)
            thread.linger(&spin)
            heard.record("end of the wait")
        }
        await heard.wait(for: 1)
        thread.enqueue { heard.record("what comes") }
        #expect(await heard.wait(for: 2) == ["end of the wait", "what comes"])
        thread.stop()
    }

    @Test func theDescriptorIsReadableWithinAJobWhileOthersWait() async {
        let thread = NotificationThread(name: "polled")
        let heard = Recorder<String>()
        let begin = Gate()
        thread.enqueue {
            begin.pass()
            // For what came before, and for what comes now.
            while heard.heard.count < 2 {
                var wait = pollfd(fd: thread.descriptor, events: Int16(POLLIN), revents: 0)
                poll(&wait, 1, -1)
                thread.drain()
            }
            heard.record("end")
        }
        thread.enqueue {
            heard.record("before")
            DispatchQueue(label: "later").async { thread.enqueue { heard.record("later") } }
        }
        begin.open()
        #expect(await heard.wait(for: 3) == ["before", "later", "end"])
        thread.stop()
    }

    @Test func whoeverStopsAThreadWaitsForItsEnd() async throws {
        let thread = NotificationThread(name: "stopping")
        let heard = Recorder<String>()
        let goOn = Gate()
        thread.enqueue {
            heard.record("runs")
            goOn.pass()
            heard.record("ran")
        }
        await heard.wait(for: 1)
        let stopping = (0..<3).map { _ in
            Task.detached {
                try await blocking { thread.stop() }
                heard.record("stopped")
            }
        }
        goOn.open()
        for task in stopping { try await task.value }
        #expect(heard.heard == ["runs", "ran", "stopped", "stopped", "stopped"])
    }

    @Test func adoptingAThreadTwiceIsHarmless() async {
        let heard = Recorder<Int>()
        await onThreads(1) { _ in
            let first = NotificationThread.adoptingCurrentThread()
            let second = NotificationThread.adoptingCurrentThread()
            #expect(first === second)
            first.enqueue { heard.record(1) }
            second.enqueue { heard.record(2) }
            second.drain()
            first.drain()
        }
        #expect(heard.heard == [1, 2])
    }

    /// Its own job, which is in the queue by then, is put off until the delivery is over.
    @Test func aThreadMayDrainItselfInWhatACursorCatchesUpWith() async {
        await #expect(processExitsWith: .success) {
            let machine = StateMachine<AppState>()
            let thread = NotificationThread(name: "nested")
            let heard = Recorder<UInt64>()
            let cursor = machine.machine.follow(on: thread) { change in
                heard.record(change.seq)
                if change.seq == 1 { thread.drain() }
            }.cursor
            withinAMinute {
                let done = DispatchSemaphore(value: 0)
                thread.enqueue {
                    machine.state = .ready(true)
                    machine.state = .ready(false)
                    cursor.catchUp()
                    done.signal()
                }
                done.wait()
                // What comes later is heard as ever.
                machine.state = .ready(true)
                thread.enqueue { done.signal() }
                done.wait()
                thread.stop()
            }
            guard heard.heard == [1, 2, 3] else { exit(3) }
        }
    }

    @Test func aThreadWhoseContextWasStoppedIsAdoptedAnew() async {
        let heard = Recorder<Int>()
        await onThreads(1) { _ in
            let first = NotificationThread.adoptingCurrentThread()
            first.stop()
            let second = NotificationThread.adoptingCurrentThread()
            #expect(first !== second)
            second.enqueue { heard.record(1) }
            second.drain()
        }
        #expect(heard.heard == [1])
    }

    @Test func aVoterOnAStoppedThreadIsNotWaitedFor() async throws {
        let thread = NotificationThread(name: "voters")
        let machine = StateMachine<AppState>()
        machine.addVoter(label: "gone", on: thread) { _ in Issue.record("it was asked") }
        thread.stop()
        try await machine.propose(.ready(true), asking: Question(deadline: nil))
        #expect(machine.state == .ready(true))
    }

    @Test func whatWasSentBeforeTheStopStillRuns() async {
        let thread = NotificationThread(name: "stopping")
        let heard = Recorder<Int>()
        for index in 0..<100 { thread.enqueue { heard.record(index) } }
        thread.stop()
        thread.stop()
        #expect(heard.heard == Array(0..<100))
    }

    @Test func aStoppedThreadReportsWhatItWasSent() async {
        let reports = Recorder<Int>()
        let thread = NotificationThread(name: "stopped") { reports.record($0) }
        thread.stop()
        let ran = Recorder<Void>()
        thread.enqueue { ran.record(()) }
        thread.enqueue { ran.record(()) }
        #expect(reports.heard == [1, 2])
        #expect(ran.heard.isEmpty)
    }

    @Test func nobodyWaitsForAStoppedThread() async {
        let reports = Recorder<Int>()
        let thread = NotificationThread(name: "stopped") { reports.record($0) }
        let unheard = Recorder<UInt64>()
        let machine = StateMachine<AppState> {
            $0.unheard = { unheard.record($0.seq) }
        }
        let listener = Listener()
        machine.addDelegate(listener, on: thread)
        thread.stop()
        machine.state = .ready(true)
        await machine.flush()
        #expect(listener.seqs.isEmpty)
        #expect(unheard.heard == [1])
        #expect(reports.heard.first == 1)
    }

    @Test func anActorCanBePinnedToTheThread() async {
        let thread = NotificationThread(name: "pinned")
        let pinned = Pinned(thread)
        let machine = StateMachine<AppState>()
        machine.addDelegate(pinned) { $0.hear($1) }
        machine.churn(100)
        await machine.flush()
        #expect(await pinned.seqs == Array(1...100))
        #expect(await pinned.strangers == 0)
        thread.stop()
        // The task's job is not dropped: otherwise the task would never resume.
        #expect(await pinned.seqs.count == 100)
    }

    @Test func drainingOnAnotherThreadTrapsAndSaysSo() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            NotificationThread(name: "owner").drain()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("drain() must be called on its notification thread"))
    }

    @Test func aJobThatDrainsItsThreadRunsWhatWasSentBeforeInOrder() async {
        let thread = NotificationThread(name: "nested")
        let ran = Recorder<Int>()
        let gate = TestSupport.Gate()
        thread.enqueue { gate.pass() }
        thread.enqueue {
            ran.record(1)
            thread.enqueue { ran.record(4) }
            thread.drain()
        }
        thread.enqueue { ran.record(2) }
        thread.enqueue { ran.record(3) }
        gate.open()
        #expect(await ran.wait(for: 4) == [1, 2, 3, 4])
        thread.stop()
    }
}

private actor Pinned {
    private let thread: NotificationThread
    private(set) var seqs: [UInt64] = []
    private(set) var strangers = 0

    init(_ thread: NotificationThread) {
        self.thread = thread
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        self.thread.asUnownedSerialExecutor()
    }

    func hear(_ transition: Transition<AppState>) {
        self.seqs.append(transition.seq)
        if self.thread.isCurrent != true { self.strangers += 1 }
    }
}

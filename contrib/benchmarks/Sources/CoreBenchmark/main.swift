import CAllocations
import Dispatch
import Foundation
import OpenCombine
import StateMachineCore

// What one commit costs the setting thread, compared with other ways to notify as many. Delivery
// goes on in the background as in a program; every line is the best of seven runs.

let rounds = 20_000

final class Counter: StateDelegate, @unchecked Sendable {
    // Used only by its own context.
    private(set) var count = 0
    func stateChanged(_ transition: Transition<AppState>) { self.count &+= 1 }
}

func measure(_ name: String, settle: () -> Void = {}, body: (Int) -> Void) -> Double {
    var best = Double.infinity
    for _ in 0..<7 {
        best = min(best, nanoseconds(settling: settle, of: body) / 1000)
    }
    show(name, best)
    return best
}

func show(_ name: String, _ microseconds: Double) {
    let column = name.padding(toLength: 54, withPad: " ", startingAt: 0)
    print("\(column) \(String(format: "%8.3f", microseconds)) µs")
}

func states(_ round: Int) -> AppState { .ready(round.isMultiple(of: 2)) }

func waitForAll(_ queues: [DispatchQueue]) { for queue in queues { queue.sync {} } }

func queueDelegates(_ count: Int, sharing: Bool) -> Double {
    let machine = StateMachine<AppState>()
    let shared = DispatchQueue(label: "shared")
    let queues = (0..<count).map { sharing ? shared : DispatchQueue(label: "\($0)") }
    let delegates = queues.map { queue in
        let delegate = Counter()
        machine.addDelegate(delegate, on: .queue(queue))
        return delegate
    }
    let kind = sharing ? "one queue" : "queues of their own"
    let result = measure(
        "machine: \(count) delegates on \(kind)",
        settle: { waitForAll(queues) },
        body: { machine.state = states($0) }
    )
    flush(machine)
    // A commit that notified nobody would be the fastest.
    precondition(delegates.allSatisfy { $0.count == 7 * rounds }, "somebody was not told of all")
    withExtendedLifetime(delegates) {}
    return result
}

func immediateDelegates(_ count: Int) -> Double {
    let machine = StateMachine<AppState>()
    let delegates = (0..<count).map { _ in
        let delegate = Counter()
        machine.addDelegate(delegate)
        return delegate
    }
    let result = measure("machine: \(count) immediate delegates") { machine.state = states($0) }
    withExtendedLifetime(delegates) {}
    return result
}

func immediateObservers(_ count: Int) -> Double {
    let machine = StateMachine<AppState>()
    for _ in 0..<count { machine.addObserver { _ in } }
    return measure("machine: \(count) immediate observers") { machine.state = states($0) }
}

func queueAsync(_ count: Int) -> Double {
    let queues = (0..<count).map { DispatchQueue(label: "\($0)") }
    let delegates = queues.map { _ in Counter() }
    let transition = Transition<AppState>(
        seq: 1,
        old: .ready(false),
        new: .ready(true),
        at: .now
    )
    return measure(
        "queue.async for each of \(count)",
        settle: { waitForAll(queues) },
        body: { _ in
            for (queue, delegate) in zip(queues, delegates) {
                queue.async { delegate.stateChanged(transition) }
            }
        }
    )
}

func notificationCenter(_ count: Int) -> Double {
    let center = NotificationCenter()
    let name = Notification.Name("state")
    let delegates = (0..<count).map { _ in Counter() }
    let transition = Transition<AppState>(seq: 1, old: .ready(false), new: .ready(true), at: .now)
    let tokens = delegates.map { delegate in
        center.addObserver(forName: name, object: nil, queue: nil) { _ in
            delegate.stateChanged(transition)
        }
    }
    let result = measure("NotificationCenter.post to \(count)") {
        center.post(name: name, object: nil, userInfo: ["state": states($0)])
    }
    withExtendedLifetime(tokens) {}
    return result
}

func currentValueSubject(_ count: Int) -> Double {
    let subject = CurrentValueSubject<AppState, Never>(.ready(false))
    let transition = Transition<AppState>(seq: 1, old: .ready(false), new: .ready(true), at: .now)
    let sinks = (0..<count).map { _ in
        let delegate = Counter()
        return subject.sink { _ in delegate.stateChanged(transition) }
    }
    let result = measure("CurrentValueSubject.send to \(count) sinks") { subject.send(states($0)) }
    withExtendedLifetime(sinks) {}
    return result
}

func asyncStreams(_ count: Int) -> Double {
    let streams = (0..<count).map { _ in AsyncStream<AppState>.makeStream() }
    let readers = streams.map { stream in
        Task { for await _ in stream.stream {} }
    }
    let result = measure("AsyncStream.yield to \(count)") { round in
        for stream in streams { stream.continuation.yield(states(round)) }
    }
    for stream in streams { stream.continuation.finish() }
    for reader in readers { reader.cancel() }
    return result
}

/// What one commit allocates on the setting thread: exact, whatever else the computer is doing.
func allocations(of machine: StateMachine<AppState>) -> Double {
    let count = 1000
    // The first commits fill caches.
    for round in 0..<count { machine.state = states(round) }
    let before = allocations_of_this_thread()
    for round in 0..<count { machine.state = states(round) }
    return Double(allocations_of_this_thread() - before) / Double(count)
}

/// On one queue that is kept busy, so that no commit has to wake it.
func allocationsBesideQueue(_ delegates: Int) -> Double {
    let machine = StateMachine<AppState>()
    let queue = DispatchQueue(label: "busy")
    let isMeasured = DispatchSemaphore(value: 0)
    queue.async { isMeasured.wait() }
    let counters = (0..<delegates).map { _ in Counter() }
    for counter in counters { machine.addDelegate(counter, on: .queue(queue)) }
    let result = allocations(of: machine)
    isMeasured.signal()
    queue.sync {}
    withExtendedLifetime(counters) {}
    return result
}

func allocationsWithImmediate(_ delegates: Int) -> Double {
    let machine = StateMachine<AppState>()
    let counters = (0..<delegates).map { _ in Counter() }
    for counter in counters { machine.addDelegate(counter) }
    let result = allocations(of: machine)
    withExtendedLifetime(counters) {}
    return result
}

let allocated = [0, 8, 64].map { count in
    let (immediate, queued) = (allocationsWithImmediate(count), allocationsBesideQueue(count))
    print("allocations of a commit with \(count): immediate \(immediate), on a queue \(queued)")
    return (immediate: immediate, queued: queued)
}
print("")

let queues8 = queueDelegates(8, sharing: false)
let queues64 = queueDelegates(64, sharing: false)
let shared8 = queueDelegates(8, sharing: true)
let shared64 = queueDelegates(64, sharing: true)
let immediate8 = immediateDelegates(8)
let nobody = immediateDelegates(0)
let observers64 = immediateObservers(64)
let async8 = queueAsync(8)
let center8 = notificationCenter(8)
let subject8 = currentValueSubject(8)
let streams8 = asyncStreams(8)
let observed8 = observation(8)
let channels8 = channels(8)
let groups8 = taskGroups(8)
print("")
let enums = compareEnums()

let verdicts =
    [
        ("a commit with 8 delegates on queues costs at most 0.5 µs", queues8 <= 0.5),
        ("… and at most a fifth of queue.async for each", queues8 <= async8 / 5),
        ("8 immediate delegates cost no more than NotificationCenter's 8", immediate8 <= center8),
        ("64 delegates on one queue cost at most twice 8", shared64 <= 2 * shared8),
        ("64 delegates on queues of their own cost at most twice 8", queues64 <= 2 * queues8),
        ("a commit that nobody hears of costs at most 0.22 µs", nobody <= 0.22),
        ("64 immediate observers cost at most 1.3 µs", observers64 <= 1.3),
        ("a commit that nobody hears of makes two allocations", allocated[0].immediate <= 2),
        (
            "… any other three, and none for a delegate",
            allocated.dropFirst().allSatisfy { $0.immediate <= 3 && $0.queued <= 3 }
        ),
        (
            "8 immediate delegates cost less than Observation, channels and task groups",
            immediate8 <= min(observed8, channels8, groups8)
        ),
    ] + enums

print("")
for (claim, holds) in verdicts { print("\(holds ? "holds" : "FAILS")  \(claim)") }
exit(verdicts.allSatisfy(\.1) ? 0 : 1)

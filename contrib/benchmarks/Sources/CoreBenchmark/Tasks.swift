import AsyncAlgorithms
import Dispatch
import Observation
import StateMachineCore

// What it costs to notify as many with Swift's own means.

@Observable
final class Model: @unchecked Sendable {
    var state = AppState.ready(false)
}

/// Observers that track again at each change, at once.
func observation(_ count: Int) -> Double {
    let model = Model()
    let counter = Counter()
    let transition = Transition<AppState>(seq: 1, old: .ready(false), new: .ready(true), at: .now)
    return measure("Observation, tracked anew by \(count)") { round in
        for _ in 0..<count {
            withObservationTracking {
                _ = model.state
            } onChange: {
                counter.stateChanged(transition)
            }
        }
        model.state = states(round)
    }
}

/// A channel for each reader; the sender waits for it.
func channels(_ count: Int) -> Double {
    let channels = (0..<count).map { _ in AsyncChannel<AppState>() }
    let readers = channels.map { channel in Task { for await _ in channel {} } }
    let result = measured("AsyncChannel.send to \(count)") { round in
        for channel in channels { await channel.send(states(round)) }
    }
    for channel in channels { channel.finish() }
    for reader in readers { reader.cancel() }
    return result
}

func taskGroups(_ count: Int) -> Double {
    let counters = (0..<count).map { _ in Counter() }
    let transition = Transition<AppState>(seq: 1, old: .ready(false), new: .ready(true), at: .now)
    return measured("a task group of \(count) for each change") { _ in
        await withTaskGroup { group in
            for counter in counters { group.addTask { counter.stateChanged(transition) } }
        }
    }
}

/// As `measure`, for code that suspends: the best of three, since each run is long.
private func measured(_ name: String, body: @escaping @Sendable (Int) async -> Void) -> Double {
    let isDone = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var best = Double.infinity
    Task.detached {
        for _ in 0..<3 {
            let begun = ContinuousClock.now
            for round in 0..<rounds / 10 { await body(round) }
            let each = (ContinuousClock.now - begun) / Double(rounds / 10)
            best = min(best, Double(each.components.attoseconds) / 1e12)
        }
        isDone.signal()
    }
    isDone.wait()
    show(name, best)
    return best
}

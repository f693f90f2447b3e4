import NIOCore
import NIOPosix
import StateMachineCore
import Synchronization
import TestSupport
import Testing

@testable import StateMachineServer

@Suite(.timeLimit(.minutes(1)))
struct PastTests {
    /// The loop may end then: what arrives there later is an error of the program's.
    @Test
    func itsEndWaitsForWhatIsBeingRead() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let history = SlowHistory()
        let past = Past(history, loop: group.next()) { _ in }
        let order = Recorder<String>()
        let count: @Sendable ([RecordedTransition]) -> Int = { $0.count }
        past.read(after: 0, making: count) { order.record("\($0 ?? 0) read") }
        let end = Task {
            await past.finish()
            order.record("finished")
        }
        // Nobody can see it wait; but while others have ended so often, it would have too.
        let idle = Past(history, loop: group.next()) { _ in }
        for _ in 1...100 { await idle.finish() }
        #expect(order.heard == [])
        history.answer()
        await end.value
        try await group.shutdownGracefully()
        #expect(Set(order.heard) == ["finished", "1 read"])
    }
}

/// A history whose disk answers when the test says so.
private final class SlowHistory: TransitionHistory {
    typealias State = AppState
    typealias Answer = @Sendable (Result<[RecordedTransition], HistoryFailure>) -> Void

    let epoch = "a"
    let oldest: UInt64 = 1
    let terms: [(name: String, value: HistoryTerm)] = []
    private let asked = Mutex<[Answer]>([])

    func read(after seq: UInt64, done: @escaping Answer) {
        self.asked.withLock { $0.append(done) }
    }

    func answer() {
        let state = RecordedTransition.State(name: "ready", data: #"{"value":true}"#)
        let first = RecordedTransition(seq: 1, old: nil, new: state, at: .now)
        for done in self.asked.withLock({ $0 }) { done(.success([first])) }
    }

    func commit(
        _ group: [Transition<AppState>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) { done(nil) }

    func settle(done: @escaping @Sendable (_ failure: String?) -> Void) { done(nil) }

    func onTrouble(_ handler: @escaping @Sendable (HistoryWork, String?) -> Void) {}
}

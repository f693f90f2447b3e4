import NIOCore
import NIOPosix
import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// What is written when the daemon ends: as much as there is time for, and no more.
@Suite
struct LastWritingTests {
    private func onTurn(_ body: @escaping @Sendable (ConnectionTurn) -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let bell = try await LoopBell.make(on: group)
        try await loop.submit {
            let turns = Turns(on: loop, bell: bell.value, after: 0)
            body(ConnectionTurn(turns))
            turns.stop()
        }.get()
        try await group.shutdownGracefully()
    }

    @Test
    func theLastWritingEndsWhenItsTimeIsOver() async throws {
        try await self.onTurn { turn in
            turn.begin()
            turn.write(.last(until: .now())) { #expect(turn.mustStop()) }
            #expect(turn.isCutShort)
        }
    }

    @Test
    func untilThenItDoesNotWaitForATurn() async throws {
        try await self.onTurn { turn in
            turn.begin()
            turn.write(.last(until: .distantFuture)) { #expect(!turn.mustStop()) }
            turn.write(.urgent) { #expect(!turn.mustStop()) }
            #expect(!turn.isCutShort)
        }
    }

    @Test
    func anAnswerFromTheHistoryIsStoppedWhereItIs() throws {
        var queue = LineQueue()
        let request = try #require(try Request.parse(Array("history".utf8)))
        guard case .history(let call) = request.call else { return }
        let runs = (0..<2).map { _ in
            HistoryRun(call, id: nil, after: 0, through: 10, resync: nil, request: [])
        }
        for run in runs { queue.append([], replies: 1, after: 0, mark: .history(run)) }
        queue.append([1], replies: 0, after: 0, mark: nil)
        for run in queue.runs { run.stop() }
        #expect(runs.map(\.isDone) == [true, true])
    }
}

import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// What an answer to `history` says about changes that are no longer available.
@Suite
struct HistoryRunTests {
    /// A run over the changes 11 to 100.
    private func run(
        resync: ServerLine.Resync? = nil,
        isFromOldest: Bool = false
    ) throws -> HistoryRun {
        let call = try #require(
            try Request.parse(Array("history".utf8)).flatMap { request -> HistoryCall? in
                guard case .history(let call) = request.call else { return nil }
                return call
            }
        )
        return HistoryRun(
            call,
            id: nil,
            after: 10,
            through: 100,
            resync: resync,
            isFromOldest: isFromOldest,
            request: []
        )
    }

    @Test
    func theOldestMayBeRemovedAsOftenAsItIsLookedFor() throws {
        let run = try self.run(isFromOldest: true)
        for first: UInt64 in [20, 21, 60, 100] {
            run.passOver(to: first, asPruned: true)
            #expect(run.cursor == first - 1)
            #expect(run.resync == nil && !run.isDone)
        }
    }

    @Test
    func whoCameFromTheOldestAndIsOnItsWayIsTold() throws {
        let run = try self.run(isFromOldest: true)
        run.passOver(to: 20, asPruned: true)
        // Examined, and not wanted.
        run.passed(to: 30)
        run.passOver(to: 40, asPruned: true)
        #expect(run.cursor == 39)
        #expect(run.resync == .evicted && !run.isDone)
    }

    @Test
    func whoNamedAPlaceIsTold() throws {
        let run = try self.run()
        run.passOver(to: 20, asPruned: true)
        #expect(run.cursor == 19)
        #expect(run.resync == .evicted && !run.isDone)
    }

    @Test(arguments: [true, false])
    func whereNothingIsLeftItEndsAndSaysSo(isFromOldest: Bool) throws {
        let run = try self.run(isFromOldest: isFromOldest)
        run.passOver(to: 101, asPruned: true)
        #expect(run.isDone && !run.isStopped)
        #expect(run.resync == .evicted)
    }

    @Test(
        arguments: [
            (nil, true, .lagged), (nil, false, nil), (.evicted, true, .evicted),
            (.unknown, true, .unknown),
        ] as [(ServerLine.Resync?, Bool, ServerLine.Resync?)]
    )
    func whatHasShownSomeEndsAndTheFirstThingToSayStays(
        resync: ServerLine.Resync?,
        isPruned: Bool,
        expected: ServerLine.Resync?
    ) throws {
        let run = try self.run(resync: resync, isFromOldest: resync == nil)
        run.sent(5)
        run.passed(to: 15)
        run.passOver(to: 60, asPruned: isPruned)
        #expect(run.isStopped && run.cursor == 15)
        #expect(run.resync == expected)
    }
}

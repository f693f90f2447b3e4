import NIOCore
import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// What an answer to `history` says about changes that are no longer available.
@Suite
struct HistoryRunTests {
    /// A run over the changes 11 to 100.
    private func run(
        _ line: String = "history",
        resync: ServerLine.Resync? = nil,
        isFromOldest: Bool = false
    ) throws -> HistoryRun {
        let call = try #require(
            try Request.parse(Array(line.utf8)).flatMap { request -> HistoryCall? in
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
    func whoAsksIsToldEachSecondThatNothingWasFound() throws {
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        let run = try self.run(#"{"op":"history","progress":true}"#)
        #expect(run.call.isSearch)
        run.beginLooking(at: start)
        run.cursor.passed(to: 20)
        #expect(run.progress(false, at: start + .milliseconds(999)) == nil)
        let told = try #require(run.progress(false, at: start + .seconds(1)))
        #expect(told == (10, 90))
        #expect(run.progress(false, at: start + .milliseconds(1500)) == nil)
        // What is found says so itself.
        #expect(run.progress(true, at: start + .seconds(3)) == nil)
        #expect(run.progress(false, at: start + .milliseconds(3500)) == nil)
        run.cursor.passed(to: 60)
        let later = try #require(run.progress(false, at: start + .seconds(4)))
        #expect(later == (50, 90))
        run.cursor.passed(to: 100)
        #expect(run.progress(false, at: start + .seconds(9)) == nil)
        let unasked = try self.run()
        unasked.beginLooking(at: start)
        #expect(unasked.progress(false, at: start + .seconds(9)) == nil)
    }

    @Test
    func theOldestMayBeRemovedAsOftenAsItIsLookedFor() throws {
        let run = try self.run(isFromOldest: true)
        for first: UInt64 in [20, 21, 60, 100] {
            run.passOver(to: first, asPruned: true, hasHistory: true)
            #expect(run.cursor.seq == first - 1)
            #expect(run.resync == nil && !run.isDone)
        }
    }

    @Test
    func whoCameFromTheOldestAndIsOnItsWayIsTold() throws {
        let run = try self.run(isFromOldest: true)
        run.passOver(to: 20, asPruned: true, hasHistory: true)
        // Examined, and not wanted.
        run.cursor.passed(to: 30)
        run.passOver(to: 40, asPruned: true, hasHistory: true)
        #expect(run.cursor.seq == 39)
        #expect(run.resync == .evicted && !run.isDone)
    }

    @Test
    func whoNamedAPlaceIsTold() throws {
        let run = try self.run()
        run.passOver(to: 20, asPruned: true, hasHistory: true)
        #expect(run.cursor.seq == 19)
        #expect(run.resync == .evicted && !run.isDone)
    }

    @Test(arguments: [true, false])
    func whereNothingIsLeftItEndsAndSaysSo(isFromOldest: Bool) throws {
        let run = try self.run(isFromOldest: isFromOldest)
        run.passOver(to: 101, asPruned: true, hasHistory: true)
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
        run.cursor.passed(to: 15)
        run.passOver(to: 60, asPruned: isPruned, hasHistory: true)
        #expect(run.isStopped && run.cursor.seq == 15)
        #expect(run.resync == expected)
    }
}

import NIOCore
import NIOPosix
import StateMachineCore
import StateMachineProtocol
import Synchronization
import TestSupport
import Testing

@testable import StateMachineServer

@Suite(.bounded) struct PastTests {
    /// The loop may end after that; work that reached it later would be a programming error.
    @Test func itsEndWaitsForWhatIsBeingRead() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let history = SlowHistory()
        let past = HistoryReader(history, loop: group.next()) { _ in }
        let order = Recorder<String>()
        past.read(.next(after: 0), for: 0, making: \.transitions.count) { count in
            order.record("\((try? count.get()) ?? 0) read")
        }
        let end = Task {
            await past.finish()
            order.record("finished")
        }
        // The wait itself is invisible; but while others have finished this often, it would have
        // too.
        let idle = HistoryReader(history, loop: group.next()) { _ in }
        for _ in 1...100 { await idle.finish() }
        #expect(order.heard == [])
        history.answer()
        await end.value
        try await group.shutdownGracefully()
        #expect(Set(order.heard) == ["finished", "1 read"])
    }

    /// Clients may ask for what cannot be read as often as they like, and for other things in
    /// between.
    @Test func damageIsToldOnceUntilItIsMended() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let history = DamagedHistory()
        let told = Recorder<String>()
        let past = HistoryReader(history, loop: group.next()) {
            told.record($0?.description ?? "mended")
        }
        func read(after seq: UInt64) async -> UInt64? {
            await withCheckedContinuation { read in
                past.read(.next(after: seq), for: 0, making: \.transitions.first?.seq) { first in
                    read.resume(returning: (try? first.get()) ?? nil)
                }
            }
        }
        #expect(await read(after: 5) == 6)
        history.damaged.withLock { $0 = [3, 7] }
        for _ in 1...3 {
            #expect(await read(after: 3) == nil)
            #expect(await read(after: 7) == nil)
            #expect(await read(after: 5) == 6)
            #expect(await read(after: 10) == nil)
        }
        #expect(told.heard == ["damage after 3"])
        // The next successful read, of anything, shows that the damage is mended.
        history.damaged.withLock { $0 = [7] }
        for _ in 1...3 { #expect(await read(after: 5) == 6) }
        #expect(told.heard == ["damage after 3", "mended"])
        for _ in 1...3 { #expect(await read(after: 7) == nil) }
        #expect(told.heard == ["damage after 3", "mended", "damage after 7"])
        await past.finish()
        try await group.shutdownGracefully()
    }

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

    @Test func whoAsksIsToldEachSecondThatNothingWasFound() throws {
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

    @Test func theOldestMayBeRemovedAsOftenAsItIsLookedFor() throws {
        let run = try self.run(isFromOldest: true)
        for first: UInt64 in [20, 21, 60, 100] {
            run.passOver(to: first, asPruned: true, hasHistory: true)
            #expect(run.cursor.seq == first - 1)
            #expect(run.resync == nil && !run.isDone)
        }
    }

    /// As is whoever came from the oldest, once it is on its way.
    @Test(arguments: [true, false]) func whoNamedAPlaceIsTold(isFromOldest: Bool) throws {
        let run = try self.run(isFromOldest: isFromOldest)
        run.passOver(to: 20, asPruned: true, hasHistory: true)
        if isFromOldest {
            // Examined, and not wanted.
            run.cursor.passed(to: 30)
            run.passOver(to: 40, asPruned: true, hasHistory: true)
        }
        #expect(run.cursor.seq == (isFromOldest ? 39 : 19))
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

/// Where a request begins that names a cursor.
@Suite struct PastStartTests {
    private typealias Start = (after: UInt64, resync: ServerLine.Resync?, missed: UInt64?)

    /// After a crash of the machine a numbering continues the one before up to a seq.
    @Test(
        arguments: [
            ("ab12:10", (10, nil, nil)), ("ab12:20", (20, nil, nil)), ("ab11:15", (15, nil, nil)),
            ("ab12:9", (99, .evicted, 11)), ("ab11:9", (99, .evicted, 11)),
            ("ab11:16", (99, .restarted, nil)), ("ffff:15", (99, .restarted, nil)),
            ("ffff:9999", (99, .restarted, nil)), (nil, (99, nil, nil)),
        ]
            + [
                "ab12:99999999999999999999999", "", ":", "ab12", "ab12:", "ab12:21", "ab12:x",
                "ab12:1:2", "ab12:-1", "z:1", "😀",
            ]
            .map { ($0, (99, .unknown, nil)) } as [(String?, Start)]
    )
    private func isAfterItOrWhereItSaysWhyNot(since: String?, expected: Start) {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let past = Past(
            ring: ChangeRing(changes: 16, bytes: 4096, after: 20),
            declarations: [],
            disk: HistoryReader(ContinuedHistory(), loop: loop) { _ in }
        )
        #expect(past.start(since, else: 99) == expected)
    }
}

/// A history that has the changes from 11 on, in a numbering that continues another from 15 on.
private final class ContinuedHistory: ReadOnlyHistory {
    let epoch = Epoch("ab12") ?? .random()
    let earlier = [Cursor("ab11:15")].compactMap(\.self)
    let oldest: UInt64 = 11

    func read(_ query: TransitionQuery, done: @escaping Answer) {
        done(.success(TransitionFinding(nothingFor: query)))
    }
}

/// A history of ten changes on a disk with damaged places.
private final class DamagedHistory: ReadOnlyHistory {
    let damaged = Mutex<Set<UInt64>>([])

    func read(_ query: TransitionQuery, done: @escaping Answer) {
        let seq = query.after
        if self.damaged.withLock({ $0.contains(seq) }) {
            done(.failure(HistoryFailure("damage after \(seq)")))
        } else if seq < 10 {
            done(.success(.ready(seq + 1)))
        } else {
            done(.success(TransitionFinding(nothingFor: query)))
        }
    }
}

/// A history whose disk answers when the test says so.
private final class SlowHistory: ReadOnlyHistory {
    private let asked = Mutex<[Answer]>([])

    func read(_ query: TransitionQuery, done: @escaping Answer) {
        self.asked.withLock { $0.append(done) }
    }

    func answer() {
        for done in self.asked.withLock({ $0 }) { done(.success(.ready(1))) }
    }
}

extension TransitionFinding {
    fileprivate static func ready(_ seq: UInt64) -> TransitionFinding {
        let state = RecordedTransition.State(name: "ready", data: #"{"value":true}"#)
        let transition = RecordedTransition(seq: seq, old: nil, new: state, at: .now)
        return TransitionFinding([transition], first: seq, examined: seq)
    }
}

extension TransitionQuery {
    fileprivate static func next(after seq: UInt64) -> TransitionQuery {
        TransitionQuery(after: seq, before: seq + 2)
    }
}

private protocol ReadOnlyHistory: PastStore {}

extension ReadOnlyHistory {
    typealias Answer = @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void

    var epoch: Epoch { .random() }
    var earlier: [Cursor] { [] }
    var beginning: Beginning { Beginning() }
    var oldest: UInt64 { 1 }
    var settings: [JSONMember] { [] }

    func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) { done(.failure(HistoryFailure("only reads are expected"))) }

    func onTrouble(_ handler: @escaping @Sendable (HistoryWork, String?) -> Void) {}
}

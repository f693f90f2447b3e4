import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Reads the machine's history, for changes older than the ring, in the background.
///
/// One read at a time, users in turn: a user who asks for much delays nobody else.
///
/// `@unchecked Sendable`: a history may be called on any thread, locks guard `turns` and `trouble`,
/// and the rest does not change.
final class HistoryReader: @unchecked Sendable {
    let history: any TransitionHistory
    let epoch: Epoch
    /// The numberings that it continues, each up to that seq.
    let earlier: [Epoch: UInt64]
    private let loop: any EventLoop
    private let onTrouble: @Sendable (HistoryFailure?) -> Void
    /// The reads under way, and those that wait for their turn.
    private let reads = DispatchGroup()
    private let turns = NIOLockedValueBox(HistoryTurns<@Sendable () -> Void>())
    /// The place after which reading failed, and whether it is retried; nil without a failure.
    private let trouble = NIOLockedValueBox<(place: UInt64, isTried: Bool)?>(nil)

    /// - Parameters:
    ///   - history: the machine's own.
    ///   - loop: where answers arrive.
    ///   - onTrouble: called with the reason when a read fails, and with nil once that place can be
    ///     read again; further failures in between are not reported. Called on any thread.
    init(
        _ history: any TransitionHistory,
        loop: any EventLoop,
        onTrouble: @escaping @Sendable (HistoryFailure?) -> Void
    ) {
        self.history = history
        // A history whose epoch has another form gets a new epoch each time.
        self.epoch = Epoch(history.epoch) ?? .random()
        self.earlier = Dictionary(
            history.earlier.compactMap { one in Epoch(one.epoch).map { ($0, one.end) } },
            uniquingKeysWith: min
        )
        self.loop = loop
        self.onTrouble = onTrouble
    }

    /// The oldest change that is kept.
    var first: UInt64 { self.history.oldest }

    /// Reads the changes after `seq` in the user's turn; delivers `make`'s result on the loop.
    ///
    /// `make` runs off the event loop. It gets at least one change, and no gaps between changes;
    /// its time counts as part of the user's turn.
    func read<Wanted: Sendable>(
        after seq: UInt64,
        for uid: UInt32,
        making make: @escaping @Sendable ([RecordedTransition]) -> Wanted,
        done: @escaping @Sendable (HistoryChunk<Wanted>) -> Void
    ) {
        self.ask(
            at: seq,
            for: uid,
            { [history] done in history.read(after: seq, done: done) },
            making: { transitions in
                guard let first = transitions.first?.seq else { return .nothing }
                // Changes after a gap are left to the next read, which reports the gap.
                let changes = zip(transitions, first...).prefix { $0.seq == $1 }.map(\.0)
                return .found(make(changes), first: first)
            },
            failing: { .unreadable($0) },
            done: done
        )
    }

    /// Finds the first few changes that match a query, as ``read(after:for:making:done:)`` reads.
    func find<Wanted: Sendable>(
        _ query: TransitionQuery,
        for uid: UInt32,
        making make: @escaping @Sendable (TransitionFinding) -> Wanted,
        done: @escaping @Sendable (HistoryChunk<Wanted>) -> Void
    ) {
        self.ask(
            at: query.after,
            for: uid,
            { [history] done in history.find(query, done: done) },
            making: { .found(make($0), first: $0.transitions.first?.seq ?? 0) },
            failing: { .unreadable($0) },
            done: done
        )
    }

    /// Outlines the first few changes between a query's ends.
    ///
    /// Turns and delivery are those of ``read(after:for:making:done:)``.
    func outline<Wanted: Sendable>(
        _ query: TransitionQuery,
        limit: Int,
        for uid: UInt32,
        making make: @escaping @Sendable (TransitionOutline) -> Wanted,
        done: @escaping @Sendable (HistoryChunk<Wanted>) -> Void
    ) {
        self.ask(
            at: query.after,
            for: uid,
            { [history] done in history.outline(query, limit: limit, done: done) },
            making: { .found(make($0), first: $0.first) },
            failing: { .unreadable($0) },
            done: done
        )
    }

    /// Finds the first change made at a time or later; one past `newest` if there is none.
    func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        for uid: UInt32,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        self.ask(
            at: newest,
            for: uid,
            { [history] done in history.locate(time, upTo: newest, done: done) },
            making: { .success($0) },
            failing: { .failure($0) },
            done: done
        )
    }

    /// Queries the history in the user's turn; delivers `make`'s result on the loop.
    ///
    /// If the query fails, `place` is read again later.
    private func ask<Answer, Wanted: Sendable>(
        at place: UInt64,
        for uid: UInt32,
        _ call:
            @escaping @Sendable (
                @escaping @Sendable (Result<Answer, HistoryFailure>) -> Void
            ) -> Void,
        making make: @escaping @Sendable (Answer) -> Wanted,
        failing: @escaping @Sendable (HistoryFailure) -> Wanted,
        done: @escaping @Sendable (Wanted) -> Void
    ) {
        self.reads.enter()
        let read: @Sendable () -> Void = {
            call { result in
                let wanted: Wanted
                switch result {
                case .success(let answer):
                    wanted = make(answer)
                    self.tryAgain()
                case .failure(let failure):
                    wanted = failing(failure)
                    self.failed(failure, after: place)
                }
                self.loop.execute { done(wanted) }
                self.turns.withLockedValue { $0.ended() }?()
                self.reads.leave()
            }
        }
        self.turns.withLockedValue { $0.asked(read, by: uid) }?()
    }

    private func failed(_ failure: HistoryFailure, after seq: UInt64) {
        let isNew = self.trouble.withLockedValue { trouble in
            guard trouble == nil else { return false }
            trouble = (seq, isTried: false)
            return true
        }
        if isNew { self.onTrouble(failure) }
    }

    /// Retries the place that failed, now that something else could be read.
    ///
    /// Only that place shows that the trouble is over. One damaged page leaves the others readable,
    /// and a reader that alternates between them would flood the log.
    private func tryAgain() {
        let place = self.trouble.withLockedValue { trouble -> UInt64? in
            guard let place = trouble?.place, trouble?.isTried == false else { return nil }
            trouble = (place, isTried: true)
            return place
        }
        guard let place else { return }
        self.reads.enter()
        self.history.read(after: place) { result in
            switch result {
            case .success:
                self.trouble.withLockedValue { $0 = nil }
                self.onTrouble(nil)
            case .failure:
                self.trouble.withLockedValue { $0 = (place, isTried: false) }
            }
            self.reads.leave()
        }
    }

    /// Waits until no read is under way, even for readers that have left.
    ///
    /// After that the loop, where the last answer arrives, may end.
    func finish() async {
        // Nobody needs the reads that have not begun; release them outside the lock.
        for _ in self.turns.withLockedValue({ $0.close() }) { self.reads.leave() }
        await withCheckedContinuation { finished in
            self.reads.notify(queue: DispatchQueue(label: "statemachine.past")) {
                finished.resume()
            }
        }
    }
}

/// The state of a reader's request for the next few old changes.
///
/// There is one request at a time, and its result is kept only until it is written: a reader whose
/// socket is full has its cursor and nothing else.
struct HistoryReading {
    enum Step {
        /// Request the changes.
        case ask
        /// Wait: they have been requested.
        case wait
        /// The changes, or the reason why there are none, have arrived.
        case take(HistoryChunk<HistoryLines>)
    }

    private enum State {
        case idle
        case asked
        case arrived(HistoryChunk<HistoryLines>)
    }

    private var state = State.idle

    /// Whether later lines of the connection have to wait for this reader's.
    var isUnderWay: Bool {
        switch self.state {
        case .asked: true
        case .idle, .arrived: false
        }
    }

    /// Returns what a reader that can go on has to do next.
    mutating func next() -> Step {
        switch self.state {
        case .idle:
            self.state = .asked
            return .ask
        case .asked: return .wait
        case .arrived(let finding):
            self.state = .idle
            return .take(finding)
        }
    }

    /// Takes the answer; a reader that cannot write it now asks again later.
    mutating func arrived(_ finding: HistoryChunk<HistoryLines>, canWrite: Bool) {
        self.state = canWrite ? .arrived(finding) : .idle
    }
}

/// Decides whose turn it is to read the history; reads nothing itself.
///
/// One read at a time; users take turns, and each user's reads are made in the order in which they
/// came. The connections and their limits bound the queue.
struct HistoryTurns<Read> {
    private var isReading = false
    private var waiting: [UInt32: CircularBuffer<Read>] = [:]
    /// The users who have reads waiting, in the order of their turns.
    private var users = CircularBuffer<UInt32>()

    /// Queues a user's read, or returns it if it is to be made now.
    mutating func asked(_ read: Read, by uid: UInt32) -> Read? {
        guard self.isReading else {
            self.isReading = true
            return read
        }
        if self.waiting[uid] == nil { self.users.append(uid) }
        self.waiting[uid, default: CircularBuffer()].append(read)
        return nil
    }

    /// Notes that the read has ended; returns the one to make now.
    mutating func ended() -> Read? {
        guard let uid = self.users.popFirst(), let read = self.waiting[uid]?.popFirst() else {
            self.isReading = false
            return nil
        }
        if self.waiting[uid]?.isEmpty == false {
            self.users.append(uid)
        } else {
            self.waiting[uid] = nil
        }
        return read
    }

    /// Ends all turns; returns the reads that will not be made.
    mutating func close() -> [Read] {
        defer {
            self.users = []
            self.waiting = [:]
        }
        return self.waiting.values.flatMap(\.self)
    }
}

/// The result of reading the history.
enum HistoryChunk<Wanted: Sendable>: Sendable {
    /// The value made from the next few kept changes, and the seq of the first of them.
    ///
    /// Where some are missing, that is not the one after the requested place.
    case found(Wanted, first: UInt64)
    /// There is nothing newer.
    case nothing
    /// What is there cannot be read.
    case unreadable(HistoryFailure)

    /// The value made from the changes after `seq`; nil if the next change is not available.
    func following(_ seq: UInt64) -> Wanted? {
        switch self {
        case .found(let wanted, let first): first == seq + 1 ? wanted : nil
        case .nothing, .unreadable: nil
        }
    }
}

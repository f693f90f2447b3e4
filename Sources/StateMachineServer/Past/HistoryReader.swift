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
    let history: any PastStore
    let epoch: Epoch
    /// The numberings that it continues, each up to that seq.
    let earlier: [Epoch: UInt64]
    private let loop: any EventLoop
    private let onTrouble: @Sendable (HistoryFailure?) -> Void
    /// The reads under way, and those that wait for their turn.
    private let reads = DispatchGroup()
    private let turns = NIOLockedValueBox(HistoryTurns<@Sendable () -> Void>())
    /// What could not be read, and whether it is retried; nil without a failure.
    private let trouble = NIOLockedValueBox<(query: TransitionQuery, isTried: Bool)?>(nil)

    /// - Parameters:
    ///   - history: the machine's own.
    ///   - loop: where answers arrive.
    ///   - onTrouble: called with the reason when a read fails, and with nil once that place can be
    ///     read again; further failures in between are not reported. Called on any thread.
    init(
        _ history: any PastStore,
        loop: any EventLoop,
        onTrouble: @escaping @Sendable (HistoryFailure?) -> Void
    ) {
        self.history = history
        self.epoch = history.epoch
        self.earlier = Dictionary(
            history.earlier.map { ($0.epoch, $0.seq) },
            uniquingKeysWith: min
        )
        self.loop = loop
        self.onTrouble = onTrouble
    }

    /// The oldest change that is kept.
    var first: UInt64 { self.history.oldest }

    /// Reads the first few changes that a query asks for, in the user's turn; delivers `make`'s result on the loop.
    ///
    /// `make` runs off the event loop; its time counts as part of the user's turn.
    func read<Made: Sendable>(
        _ query: TransitionQuery,
        for uid: UInt32,
        making make: @escaping @Sendable (TransitionFinding) -> Made,
        done: @escaping @Sendable (Result<Made, HistoryFailure>) -> Void
    ) {
        self.ask(query, for: uid, done: done) { [history] done in
            history.read(query) { done($0.map(make)) }
        }
    }

    /// Finds the first change made at a time or later; one past `newest` if there is none.
    func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        for uid: UInt32,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        let newer = TransitionQuery(after: newest, before: newest + 2)
        self.ask(newer, for: uid, done: done) { [history] done in
            history.locate(time, upTo: newest, done: done)
        }
    }

    /// Queries the history in the user's turn; if that fails, `query` is read again later.
    private func ask<Answer: Sendable>(
        _ query: TransitionQuery,
        for uid: UInt32,
        done: @escaping @Sendable (Result<Answer, HistoryFailure>) -> Void,
        _ call:
            @escaping @Sendable (
                @escaping @Sendable (Result<Answer, HistoryFailure>) -> Void
            ) -> Void
    ) {
        self.reads.enter()
        let read: @Sendable () -> Void = {
            call { result in
                switch result {
                case .success: self.tryAgain()
                case .failure(let failure): self.failed(failure, query)
                }
                self.loop.execute { done(result) }
                self.turns.withLockedValue { $0.ended() }?()
                self.reads.leave()
            }
        }
        self.turns.withLockedValue { $0.asked(read, by: uid) }?()
    }

    private func failed(_ failure: HistoryFailure, _ query: TransitionQuery) {
        let isNew = self.trouble.withLockedValue { trouble in
            guard trouble == nil else { return false }
            trouble = (query, isTried: false)
            return true
        }
        if isNew { self.onTrouble(failure) }
    }

    /// Retries the place that failed, now that something else could be read.
    ///
    /// Only that place shows that the trouble is over. One damaged page leaves the others readable,
    /// and a reader that alternates between them would flood the log.
    private func tryAgain() {
        let query = self.trouble.withLockedValue { trouble -> TransitionQuery? in
            guard let query = trouble?.query, trouble?.isTried == false else { return nil }
            trouble = (query, isTried: true)
            return query
        }
        guard let query else { return }
        self.reads.enter()
        self.history.read(query) { result in
            switch result {
            case .success:
                self.trouble.withLockedValue { $0 = nil }
                self.onTrouble(nil)
            case .failure:
                self.trouble.withLockedValue { $0 = (query, isTried: false) }
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

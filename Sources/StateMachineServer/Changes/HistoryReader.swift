import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// What is older than the ring: the machine's history, read in the background, one read at a time and users
/// in turn: whoever asks for much waits for it alone.
///
/// `@unchecked Sendable`: a history may be called from anywhere, locks guard `turns` and `trouble`, and the
/// rest does not change.
final class HistoryReader: @unchecked Sendable {
    let history: any TransitionHistory
    let epoch: Epoch
    private let loop: any EventLoop
    private let onTrouble: @Sendable (HistoryFailure?) -> Void
    /// What is being read, or waits its turn.
    private let reads = DispatchGroup()
    private let turns = NIOLockedValueBox(HistoryTurns<@Sendable () -> Void>())
    /// After which change it could not be read, and whether that is being tried again; nil if all that
    /// was asked for could be.
    private let trouble = NIOLockedValueBox<(place: UInt64, isTried: Bool)?>(nil)

    /// - Parameters:
    ///   - history: the machine's own.
    ///   - loop: where answers arrive.
    ///   - onTrouble: told why something cannot be read, and nil when that can be read again; not of
    ///     what else cannot be read meanwhile. Called from anywhere.
    init(
        _ history: any TransitionHistory,
        loop: any EventLoop,
        onTrouble: @escaping @Sendable (HistoryFailure?) -> Void
    ) {
        self.history = history
        // A history that names its numbering in another way has a new one each time.
        self.epoch = Epoch(history.epoch) ?? .random()
        self.loop = loop
        self.onTrouble = onTrouble
    }

    /// The oldest change that is kept.
    var first: UInt64 { self.history.oldest }

    /// Reads what follows `seq`, when it is the user's turn, makes of it what is wanted, beside the event
    /// loop, and hands that over on the loop.
    ///
    /// `make` is given changes without a gap among them, at least one; what it takes is the user's turn.
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
                // What lies behind a hole is for who reads on from the hole, and is told.
                let changes = zip(transitions, first...).prefix { $0.seq == $1 }.map(\.0)
                return .found(make(changes), first: first)
            },
            failing: { .unreadable($0) },
            done: done
        )
    }

    /// Looks for the first few changes that a query asks for, as ``read(after:for:making:done:)`` reads.
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

    /// Reads an outline of the first few changes between a query's ends, as ``read(after:for:making:done:)`` reads.
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

    /// Looks up the first change that was made at a time or later, one past `newest` if none was.
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

    /// Asks the history something, when it is the user's turn, and hands what `make` has of the answer over on the
    /// loop; `place` is tried again if it fails.
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

    /// Something could be read: what could not be is tried again.
    ///
    /// Only that says that it works again. One damaged page leaves the others as they were, and who
    /// reads both in turn would have the log written full.
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

    /// Returns when nothing is being read any more for readers who may have gone meanwhile: the loop,
    /// where the last answer arrives, may end then.
    func finish() async {
        // What has not been begun is for nobody; let go under no lock.
        for _ in self.turns.withLockedValue({ $0.close() }) { self.reads.leave() }
        await withCheckedContinuation { finished in
            self.reads.notify(queue: DispatchQueue(label: "statemachine.past")) {
                finished.resume()
            }
        }
    }
}

import Dispatch
import NIOCore
import StateMachineCore
import StateMachineWire

/// What is older than the ring: the machine's history, read in the background.
///
/// `@unchecked Sendable`: a history may be called from anywhere; the rest does not change.
final class Past: @unchecked Sendable {
    let history: any TransitionHistory
    let epoch: Epoch
    private let loop: any EventLoop
    private let onFailure: @Sendable (HistoryFailure) -> Void
    /// What is being read.
    private let reads = DispatchGroup()

    /// - Parameters:
    ///   - history: the machine's own.
    ///   - loop: where answers arrive.
    ///   - onFailure: told why something could not be read, from anywhere.
    init(
        _ history: any TransitionHistory,
        loop: any EventLoop,
        onFailure: @escaping @Sendable (HistoryFailure) -> Void
    ) {
        self.history = history
        // A history that names its numbering in another way has a new one each time.
        self.epoch = Epoch(history.epoch) ?? .random()
        self.loop = loop
        self.onFailure = onFailure
    }

    /// The oldest change that is kept.
    var first: UInt64 { self.history.oldest }

    /// Reads what follows `seq`, makes of it what is wanted, beside the event loop, and hands that over
    /// on the loop: nil if the change after `seq` is not to be had any more.
    func read<Wanted: Sendable>(
        after seq: UInt64,
        making make: @escaping @Sendable ([RecordedTransition]) -> Wanted,
        done: @escaping @Sendable (Wanted?) -> Void
    ) {
        self.reads.enter()
        self.history.read(after: seq) { result in
            var wanted: Wanted?
            switch result {
            case .success(let transitions):
                // What lies behind a hole does not follow; who reads on from the hole is told.
                let following = zip(transitions, (seq + 1)...).prefix { $0.seq == $1 }.map(\.0)
                if !following.isEmpty { wanted = make(following) }
            case .failure(let failure): self.onFailure(failure)
            }
            self.loop.execute { [wanted] in done(wanted) }
            self.reads.leave()
        }
    }

    /// Returns when nothing is being read any more for readers who may have gone meanwhile: the loop,
    /// where the last answer arrives, may end then.
    func finish() async {
        await withCheckedContinuation { finished in
            self.reads.notify(queue: DispatchQueue(label: "statemachine.past")) {
                finished.resume()
            }
        }
    }
}

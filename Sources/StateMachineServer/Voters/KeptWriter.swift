import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Records holds and guards in the history, those of one commit together.
///
/// Owns what waits to be recorded. Belongs to the event loop, where the history's answers are delivered.
final class KeptWriter {
    /// Called with nil when something is recorded, or with why it could not be.
    typealias Done = (_ failure: String?) -> Void

    private let loop: any EventLoop
    /// Where they are recorded; nil if only for the next process.
    private var history: (any TransitionHistory)?
    /// What is recorded next.
    ///
    /// As many as there may be holds and guards, and their ends.
    private var waiting: [(number: UInt64, voter: KeptVoter?, done: Done)] = []
    private var isWriting = false
    /// Those that the history has, by number.
    private(set) var recorded: Set<UInt64> = []
    /// Who waits until nothing is on its way.
    private var idle: [() -> Void] = []

    init(on loop: any EventLoop) {
        self.loop = loop
    }

    /// Whether there is a history.
    var isLasting: Bool { self.history != nil }

    /// Records them in `history` from now on, which has those of these numbers.
    func begin(in history: (any TransitionHistory)?, having recorded: some Sequence<UInt64>) {
        self.history = history
        self.recorded = Set(recorded)
    }

    /// Records one as it is now.
    func keep(_ voter: KeptVoter, done: @escaping Done = { _ in }) {
        self.write(voter.number, voter, done)
    }

    /// Removes the one of that number.
    func forget(_ number: UInt64, done: @escaping Done = { _ in }) {
        self.write(number, nil, done)
    }

    /// Calls `body` once nothing is on its way to the history.
    func whenIdle(_ body: @escaping () -> Void) {
        if self.isWriting { self.idle.append(body) } else { body() }
    }

    private func write(_ number: UInt64, _ voter: KeptVoter?, _ done: @escaping Done) {
        guard self.history != nil else { return done(nil) }
        self.waiting.append((number, voter, done))
        self.write()
    }

    private func write() {
        guard let history, !self.isWriting, !self.waiting.isEmpty else { return }
        self.isWriting = true
        let group = exchange(&self.waiting, with: [])
        let answer = NIOLoopBound(
            { (failure: String?) in
                self.isWriting = false
                if failure == nil { self.note(group) }
                for one in group { one.done(failure) }
                self.write()
                guard !self.isWriting else { return }
                for body in exchange(&self.idle, with: []) { body() }
            },
            eventLoop: self.loop
        )
        history.keep(group.map { ($0.number, $0.voter) }) { [loop] failure in
            loop.execute { answer.value(failure) }
        }
    }

    /// Notes what the history has, now that it has that too.
    private func note(_ group: [(number: UInt64, voter: KeptVoter?, done: Done)]) {
        for (number, voter, _) in group {
            if voter == nil { self.recorded.remove(number) } else { self.recorded.insert(number) }
        }
    }
}

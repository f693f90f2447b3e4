/// A machine's transitions, for `for await`.
///
/// Every iterator hears for itself, all of them the same, from the moment it is made. It is bounded:
/// one that falls too far behind gets a ``Heard/missed(_:now:)`` and goes on from there. Iterating
/// ends when the task is cancelled.
public struct Transitions<State: MachineState>: AsyncSequence, Sendable {
    /// What an iterator hears.
    public enum Heard: Hashable, Sendable {
        /// Where the machine was when the iterator was made; the first element, if asked for.
        case current(Snapshot<State>)
        /// What happened next.
        case change(Transition<State>)
        /// So many transitions are lost to this iterator; `now` is where the last of them led.
        case missed(Int, now: Snapshot<State>)
    }

    /// What an iterator hears.
    public typealias Element = Heard

    let machine: StateMachine<State>
    let start: Start
    let capacity: Int

    /// An iterator, which hears what is committed from now on.
    public func makeAsyncIterator() -> Iterator {
        Iterator(TransitionReader(of: self.machine, starting: self.start, keeping: self.capacity))
    }

    /// One task's way through the transitions.
    public struct Iterator: AsyncIteratorProtocol {
        private let reader: TransitionReader<State>

        init(_ reader: TransitionReader<State>) {
            self.reader = reader
        }

        /// The next element; nil once the task is cancelled.
        public mutating func next() async -> Heard? { await self.reader.next() }
    }
}

extension StateMachine {
    /// The transitions from now on, as a sequence.
    ///
    /// - Parameters:
    ///   - start: whether an iterator begins with the current state.
    ///   - capacity: transitions that are kept for an iterator that is late; past it all of them are
    ///     missed. 1024: ten seconds of a busy machine. Not tuned.
    /// - Returns: the sequence; each of its iterators begins when it is made.
    public func transitions(
        starting start: Start = .current,
        keeping capacity: Int = 1024
    ) -> Transitions<State> {
        precondition(capacity > 0, "an iterator has to have room for one transition")
        return Transitions(machine: self, start: start, capacity: capacity)
    }
}

/// One iterator's registration, which ends with it.
final class TransitionReader<State: MachineState>: Sendable {
    private let member: ReaderMember<State>
    private let registration: Registration

    init(of machine: StateMachine<State>, starting start: Start, keeping capacity: Int) {
        self.member = ReaderMember(keeping: capacity)
        let (_, current) = machine.register(self.member, on: InlineContext())
        switch start {
        case .next: break
        case .current: self.member.begin(with: current)
        }
        self.registration = machine.registration(of: self.member)
    }

    deinit { self.registration.cancel() }

    func next() async -> Transitions<State>.Heard? {
        let member = self.member
        return await withTaskCancellationHandler {
            await withCheckedContinuation { member.take($0) }
        } onCancel: {
            member.end()
        }
    }
}

/// Takes transitions from the committing thread and hands them to the iterator.
///
/// Guarded state, behind `mailbox`: what waits, and the continuation of an iterator that does.
final class ReaderMember<State: MachineState>: Member<State>, @unchecked Sendable {
    typealias Heard = Transitions<State>.Heard

    private struct Mailbox: Sendable {
        var current: Snapshot<State>?
        var missed: Int = 0
        var missedTo: Snapshot<State>?
        var changes: [Transition<State>] = []
        var continuation: CheckedContinuation<Heard?, Never>?
        var isEnded = false

        mutating func next() -> Heard? {
            if let current = self.current.take() { return .current(current) }
            if let now = self.missedTo.take() {
                defer { self.missed = 0 }
                return .missed(self.missed, now: now)
            }
            return self.changes.isEmpty ? nil : .change(self.changes.removeFirst())
        }
    }

    private let mailbox = Lock(Mailbox())
    private let capacity: Int

    init(keeping capacity: Int) {
        self.capacity = capacity
    }

    /// Before anybody takes: whatever has come since the registration is behind it.
    func begin(with current: Snapshot<State>) { self.mailbox.withLock { $0.current = current } }

    func take(_ continuation: CheckedContinuation<Heard?, Never>) {
        let heard = self.mailbox.withLock { mailbox -> Heard?? in
            if mailbox.isEnded { return .some(nil) }
            if let heard = mailbox.next() { return heard }
            mailbox.continuation = continuation
            return .none
        }
        if let heard { continuation.resume(returning: heard) }
    }

    func end() {
        let continuation = self.mailbox.withLock { mailbox in
            mailbox.isEnded = true
            return mailbox.continuation.take()
        }
        continuation?.resume(returning: nil)
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.deliver { mailbox in
            if mailbox.changes.count < self.capacity {
                mailbox.changes.append(transition)
                return []
            }
            // All of them, so that what is told as missed lies before what follows.
            let lost = mailbox.changes
            mailbox.changes = []
            mailbox.missed += lost.count + 1
            mailbox.missedTo = Snapshot(
                seq: transition.seq,
                state: transition.new,
                at: transition.at
            )
            return lost
        }
        return true
    }

    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        self.deliver { mailbox in
            let lost = mailbox.changes
            mailbox.changes = []
            mailbox.missed += lost.count + count
            mailbox.missedTo = Snapshot(seq: newest.seq, state: newest.new, at: newest.at)
            return lost
        }
    }

    /// What `change` returns is let go of after the lock: with a state a client's code may run.
    private func deliver(_ change: (inout Mailbox) -> [Transition<State>]) {
        let (continuation, heard, _) = self.mailbox.withLock {
            mailbox -> (CheckedContinuation<Heard?, Never>?, Heard?, [Transition<State>]) in
            let lost = change(&mailbox)
            guard mailbox.continuation != nil else { return (nil, nil, lost) }
            let heard = mailbox.next()
            return (heard == nil ? nil : mailbox.continuation.take(), heard, lost)
        }
        continuation?.resume(returning: heard)
    }
}

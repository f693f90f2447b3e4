import Dispatch

/// A machine's transitions, for `for await`.
///
/// Every iterator hears for itself, all of them the same, from the moment it is made. It is bounded:
/// one that falls too far behind gets a ``Heard/missed(_:now:)`` and goes on from there. Iterating
/// ends when the task is cancelled, and, after what was committed by then, when the machine goes: neither the
/// sequence nor an iterator keeps it.
///
/// The iterators of a machine are told together, on a queue of theirs: whoever sets the state wakes that one,
/// however many there are.
public struct Transitions<State: MachineState>: AsyncSequence, Sendable {
    /// What an iterator hears.
    public enum Heard: Equatable, Sendable {
        /// Where the machine was when the iterator was made; the first element, if asked for.
        case current(Snapshot<State>)
        /// What happened next.
        case change(Transition<State>)
        /// So many transitions are lost to this iterator; `now` is where the last of them led.
        case missed(Int, now: Snapshot<State>)
    }

    /// What an iterator hears.
    public typealias Element = Heard

    private weak let machine: StateMachine<State>?
    private let start: Start
    private let capacity: Int

    fileprivate init(of machine: StateMachine<State>, starting start: Start, keeping capacity: Int)
    {
        self.machine = machine
        self.start = start
        self.capacity = capacity
    }

    /// An iterator, which hears what is committed from now on; nothing if the machine is gone.
    public func makeAsyncIterator() -> Iterator {
        Iterator(TransitionReader(of: self.machine, starting: self.start, keeping: self.capacity))
    }

    /// One task's way through the transitions; where several share one, each element is one task's.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let reader: TransitionReader<State>

        fileprivate init(_ reader: TransitionReader<State>) {
            self.reader = reader
        }

        /// The next element; nil once the task is cancelled or the machine is gone.
        public mutating func next() async -> Heard? { await self.next(isolation: #isolation) }

        /// The next element, without leaving the caller's isolation; nil once the task is cancelled or
        /// the machine is gone.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Heard? {
            await self.reader.next(isolation: actor)
        }
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
        return Transitions(of: self, starting: start, keeping: capacity)
    }
}

/// One iterator's registration, which ends with it.
///
/// It keeps the mailbox and not the member: that goes with the machine, and says so.
private final class TransitionReader<State: MachineState>: Sendable {
    private let mailbox: TransitionMailbox<State>
    private let leave: @Sendable () -> Void

    init(of machine: StateMachine<State>?, starting start: Start, keeping capacity: Int) {
        self.mailbox = TransitionMailbox(keeping: capacity)
        guard let machine else {
            self.mailbox.end()
            self.leave = {}
            return
        }
        let member = ReaderMember(self.mailbox)
        let (_, current) = machine.register(member, on: ReaderContext(of: machine))
        switch start {
        case .next: break
        case .current: self.mailbox.begin(with: current)
        }
        self.leave = { [weak machine, weak member] in
            guard let machine, let member else { return }
            machine.registration(of: member).cancel()
        }
    }

    deinit { self.leave() }

    func next(isolation actor: isolated (any Actor)?) async -> Transitions<State>.Heard? {
        let wait = TransitionMailbox<State>.Wait()
        return await withTaskCancellationHandler(
            operation: {
                await withCheckedContinuation(isolation: actor) { continuation in
                    self.mailbox.take(continuation, as: wait)
                }
            },
            onCancel: { self.mailbox.withdraw(wait) },
            isolation: actor
        )
    }
}

/// Where the iterators of one machine are told: all in one lane, since the place is the machine's.
final class ReaderContext: ExecutionContext {
    private let queue = DispatchQueue(label: "transitions")
    let identity: ObjectIdentifier

    init(of machine: AnyObject) {
        self.identity = ObjectIdentifier(machine)
    }

    func enqueue(_ job: @escaping @Sendable () -> Void) { self.queue.async(execute: job) }
}

/// An iterator's place in the lane; when it goes, the machine has, or nobody iterates any more.
private final class ReaderMember<State: MachineState>: Member<State>, @unchecked Sendable {
    private let mailbox: TransitionMailbox<State>

    init(_ mailbox: TransitionMailbox<State>) {
        self.mailbox = mailbox
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.mailbox.put(transition)
        return true
    }

    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        self.mailbox.lose(count, newest: newest)
    }

    deinit { self.mailbox.end() }
}

import Dispatch

/// A machine's transitions, for `for await`.
///
/// Every iterator hears all of them; neither the sequence nor an iterator keeps the machine alive.
///
/// A machine's iterators are told together, on a queue of their own: a setter wakes only that one,
/// however many there are. One whose delivery has a key function has a queue to itself.
package struct Transitions<State: MachineState>: AsyncSequence, Sendable {
    package typealias Element = StateMachine<State>.Heard
    package typealias Failure = Never

    private weak let machine: Machine?
    private let start: Start
    private let delivery: Delivery<Change>

    package init(
        of machine: StateMachine<State>,
        starting start: StateMachine<State>.Start,
        delivering delivery: Delivery<Transition<State>>
    ) {
        self.machine = machine.machine
        self.start = start
        self.delivery = delivery.ofChanges()
    }

    /// An iterator, which hears what is committed from now on; nothing if the machine is gone.
    package func makeAsyncIterator() -> Iterator {
        Iterator(
            TransitionReader(of: self.machine, starting: self.start, delivering: self.delivery)
        )
    }

    /// One task's way through the transitions; if tasks share one, each element goes to one task.
    package struct Iterator: AsyncIteratorProtocol, Sendable {
        private let reader: TransitionReader

        fileprivate init(_ reader: TransitionReader) {
            self.reader = reader
        }

        /// The next element; nil once the task is cancelled or the machine is gone.
        package mutating func next() async -> StateMachine<State>.Heard? {
            await self.next(isolation: #isolation)
        }

        /// The next element, without leaving the caller's isolation; nil once the task is cancelled or
        /// the machine is gone.
        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async -> StateMachine<State>.Heard? {
            await self.reader.next(isolation: actor).map { .init($0) }
        }
    }
}

extension StateMachine {
    /// An element of an iteration over a machine's transitions.
    public enum Heard: Equatable, Sendable {
        /// Where the machine was when the iterator was made; the first element, if requested.
        case current(Snapshot<State>)
        /// What happened next.
        case change(Transition<State>)
        /// That many transitions are lost to this iterator; `now` is where the last of them led.
        case missed(Int, now: Snapshot<State>)

        fileprivate init(_ heard: TransitionMailbox.Heard) {
            switch heard {
            case .current(let place): self = .current(Snapshot(place))
            case .change(let change): self = .change(Transition(change))
            case .missed(let count, let now): self = .missed(count, now: Snapshot(now))
            }
        }
    }

    /// The transitions from now on, as a sequence.
    ///
    /// Every iterator hears all of them, from the moment it is made. It is bounded: one that falls
    /// behind by more than the delivery's limit gets a ``Heard/missed(_:now:)`` and goes on from
    /// there. Iterating ends when the task is cancelled, and, after what was committed by then,
    /// when the machine goes: neither the sequence nor an iterator keeps it alive. What a delivery
    /// still holds then is not delivered.
    ///
    /// - Parameters:
    ///   - start: whether an iterator begins with the current state.
    ///   - delivery: which transitions an iterator gets, and when, by the machine's clock; by
    ///     default each.
    /// - Returns: the sequence; each of its iterators starts when it is made.
    public func transitions(
        starting start: Start = .current,
        delivering delivery: Delivery<Transition<State>> = .each
    ) -> some AsyncSequence<Heard, Never> & Sendable {
        Transitions(of: self, starting: start, delivering: delivery)
    }
}

/// One iterator's registration, which ends with it.
///
/// It keeps the mailbox alive and not the member, which goes with the machine and then ends the
/// mailbox.
final class TransitionReader: Sendable {
    private let mailbox: TransitionMailbox
    private weak let member: Member?

    init(of machine: Machine?, starting start: Start, delivering delivery: Delivery<Change>) {
        self.mailbox = TransitionMailbox(keeping: delivery.limit)
        guard let machine else {
            self.member = nil
            self.mailbox.end()
            return
        }
        let opening = MailboxOpening(self.mailbox)
        let member = delivery.member(
            by: machine.options.clock,
            // The newest by the time that the task gets to it, and not by the time that it was told.
            isWanted: { opening.mailbox.isAwaited },
            missed: { opening.mailbox.lose($1, to: $2) },
            tell: { _, entry in
                opening.mailbox.put(entry.change)
                return true
            }
        )
        self.member = member
        // A key function is a client's and may be slow, which is to hold up this iterator alone.
        let queue = delivery.isKeyed ? DispatchQueue(label: "keyed transitions") : machine.readers
        let current = machine.register(member, on: queue).place
        if start == .current { self.mailbox.begin(with: current) }
    }

    deinit { self.member?.end() }

    /// Ends the iteration after what has been committed so far; it does not keep the reader.
    var finish: @Sendable () -> Void {
        { [weak member, mailbox] in
            if let member { member.flush { mailbox.end() } } else { mailbox.end() }
        }
    }

    func next(isolation actor: isolated (any Actor)?) async -> TransitionMailbox.Heard? {
        let wait = TransitionMailbox.Wait()
        let heard = await withTaskCancellationHandler(
            operation: {
                await withCheckedContinuation(isolation: actor) { continuation in
                    // Has what was kept until the task wanted it delivered.
                    if self.mailbox.take(continuation, as: wait) { self.member?.askForTurn() }
                }
            },
            onCancel: { self.mailbox.withdraw(wait) },
            isolation: actor
        )
        self.mailbox.order()
        return heard
    }
}

/// The way into a mailbox; when it is released, the machine is gone, or nobody iterates any more.
private final class MailboxOpening: Sendable {
    let mailbox: TransitionMailbox

    init(_ mailbox: TransitionMailbox) { self.mailbox = mailbox }

    deinit { self.mailbox.end() }
}

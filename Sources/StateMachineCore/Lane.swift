import Synchronization

/// One execution context's view of a machine: a cursor into the log, and who listens there.
///
/// Guarded state:
/// - `isScheduled`: up from the moment a drain is asked for until it has found nothing more. Whoever
///   raised it owns the drain; there is one at a time, whatever the context is.
/// - `cursor`, `heard`, `heardVersion`, `isDraining`: the drain's own.
/// - `members`, with `version` beside it: changed at registration under the machine's lock and this
///   lock, read by the drain under this lock, and only when `version` says that they changed.
///
/// A drain takes no lock of the machine's. `@unchecked Sendable`: the drain's fields are handed from
/// one drain to the next by `isScheduled`, whose operations order them.
final class Lane<State: MachineState>: @unchecked Sendable {
    let context: any ExecutionContext

    private let isScheduled = Atomic<Bool>(false)
    private let version = Atomic<Int>(0)
    private let members = Lock<[Member<State>]>([])

    private var cursor: TransitionLogEntry<State>
    private var heard: [Member<State>] = []
    private var heardVersion = 0
    private var isDraining = false

    /// Entries that one drain delivers before it lets the context's other work have its turn.
    ///
    /// 256: a burst of a busy machine, and well below a millisecond of work. Not tuned.
    private static var drainLimit: Int { 256 }

    init(context: any ExecutionContext, after entry: TransitionLogEntry<State>) {
        self.context = context
        self.cursor = entry
    }

    /// Called under the machine's lock, so that a drain that reads a later entry sees the member.
    func add(_ member: Member<State>) {
        self.members.withLock { $0.append(member) }
        self.version.add(1, ordering: .sequentiallyConsistent)
    }

    /// Called under the machine's lock. Returns whether nobody is left.
    func remove(_ member: Member<State>) -> Bool {
        let isEmpty = self.members.withLock { members in
            members.removeAll { $0 === member }
            return members.isEmpty
        }
        self.version.add(1, ordering: .sequentiallyConsistent)
        return isEmpty
    }

    func member(where matches: (Member<State>) -> Bool) -> Member<State>? {
        self.members.withLock { $0 }.first(where: matches)
    }

    /// Called after something was appended, outside every lock.
    func wake() {
        guard !self.isScheduled.exchange(true, ordering: .sequentiallyConsistent) else { return }
        self.context.enqueue { self.drain() }
    }

    private func drain() {
        var last: TransitionLogEntry<State>
        repeat {
            guard self.deliver(atMost: Self.drainLimit) else {
                self.context.enqueue { self.drain() }
                return
            }
            // Past the store another drain may run: only the local is ours to look at.
            last = self.cursor
            self.isScheduled.store(false, ordering: .sequentiallyConsistent)
        } while last.next != nil
            && !self.isScheduled.exchange(true, ordering: .sequentiallyConsistent)
    }

    /// Delivers what has been committed so far, now.
    ///
    /// Only on the lane's own context, which has to be serial; a no-op from inside a delivery.
    func catchUp() {
        precondition(self.context.isCurrent == true, "catchUp() was called off the lane's context")
        guard !self.isDraining else { return }
        _ = self.deliver(atMost: .max)
    }

    /// Returns false if the limit was reached before the end of the log.
    private func deliver(atMost limit: Int) -> Bool {
        self.isDraining = true
        defer { self.isDraining = false }
        var left = limit
        var hasDelivered = false
        while let entry = self.cursor.next {
            guard left > 0 else { return false }
            left -= 1
            self.cursor = entry
            self.refreshHeard()
            guard let transition = entry.transition else { continue }
            hasDelivered = true
            for member in self.heard where member.since < transition.seq {
                member.hear(transition)
            }
        }
        if hasDelivered {
            for member in self.heard { member.burstEnded() }
        }
        return true
    }

    private func refreshHeard() {
        let version = self.version.load(ordering: .sequentiallyConsistent)
        guard version != self.heardVersion else { return }
        self.heardVersion = version
        self.heard = self.members.withLock { $0 }
    }
}

/// Holds a state, and is the only source of its changes: the engine of every ``StateMachine``.
///
/// Setting the state numbers the change, appends it to a log under one lock, and wakes the execution
/// contexts that listen; each of them reads the log for itself. No client's code runs under the lock.
/// There are two ways in: at once (``enterAtOnce(_:asking:)``), and in turn
/// (``propose(_:asking:isTimed:in:isLimited:completion:)``).
///
/// Guarded state: all of it is in `Holder`, behind `holder`.
@usableFromInline
package final class Machine: Sendable {
    /// What the lock guards.
    struct Holder: Sendable {
        var lanes: [Lane] = []
        /// The same by the identity of their contexts.
        var places: [ObjectIdentifier: Lane] = [:]
        var tail: LogEntry
        /// The entry of the change that is about to be made.
        private var prepared: LogEntry?
        var gate: Gate
        /// Whether the state is being replaced by one that looks the same.
        private var isReplacing = false

        private(set) var place: Place {
            // The only way out: a change without an entry does not happen. It only links, since whatever is built
            // from a state is built before the lock.
            didSet {
                guard let entry = self.prepared.take() else {
                    precondition(self.isReplacing, "a state was entered without a change")
                    return
                }
                self.append(entry)
            }
        }

        init(at place: Place, _ gate: Gate) {
            self.tail = LogEntry(.beginning)
            self.gate = gate
            self.place = place
        }

        mutating func append(_ entry: LogEntry) {
            entry.deliveryCount?.expect(lanes: self.lanes.count)
            exchange(&self.tail, with: entry).append(entry)
        }

        /// Enters a state, under the lock; `entry` is its change from the present state.
        ///
        /// - Returns: the former tail. The caller keeps it, and the former state, until the lock is
        ///   released: states may go with them, and that may run a client's code.
        mutating func enter(_ entry: ChangeEntry) -> LogEntry {
            let before = self.tail
            self.prepared = entry
            self.place = entry.change.place
            return before
        }

        /// Replaces the state by one that looks the same, without a change.
        ///
        /// The caller keeps the former state until the lock is released.
        mutating func replace(with value: Value) {
            let place = self.place
            self.isReplacing = true
            self.place = Place(seq: place.seq, value: value, at: place.at, stay: place.stay)
            self.isReplacing = false
        }

        func appended(since before: LogEntry) -> Appended {
            Appended(before: before, tail: self.tail, lanes: self.lanes)
        }
    }

    /// What may be chosen when a machine is made; see ``StateMachine/Options``.
    struct Options: Sendable {
        var announcesEqual = false
        var laneLimit: Int?
        var clock: any Clock<Duration> = ContinuousClock()
        var unheard: (@Sendable (Change) -> Void)?
        var unassigned: (@Sendable (Value, Refused) -> Void)?
        var log: (any Recording)?
        var proposalLimit: Int
        /// Whether two states with the same ``Value/tag`` are sure to have the same name.
        var haveCases: Bool
    }

    let holder: Lock<Holder>
    let options: Options
    let sleepers = LaneSleepers()

    /// A machine that goes on where another one stopped; nobody is told about it.
    init(resuming place: Place, options: Options) {
        self.options = options
        self.holder = Lock(
            Holder(at: place, Gate(hasLog: options.log != nil, limit: options.proposalLimit))
        )
    }

    @usableFromInline package var value: Value { self.holder.withLock { $0.place.value } }

    /// The state and its place in the order, read together.
    package var place: Place { self.holder.withLock { $0.place } }
}

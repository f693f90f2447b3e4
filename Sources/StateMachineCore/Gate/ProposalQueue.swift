/// The proposals of a gate that have not been evaluated, in order of arrival.
struct ProposalQueue: Sendable {
    typealias Pending = PendingProposal

    /// Where a proposal is.
    enum Place: Sendable {
        /// Voters may have to be asked about it, and it is the first of those.
        case first
        /// Behind others.
        case behind
        /// Not here.
        case nowhere
    }

    /// Those that voters may have to be asked about.
    var waiting: [Pending] = []
    /// Those that ask nobody: they wait for no voter, and so go first.
    var assignments: [Pending] = []

    var count: Int { self.waiting.count + self.assignments.count }

    /// How many voters may have to be asked about.
    var waitingCount: Int { self.waiting.count }

    /// The first that voters may have to be asked about.
    var first: Pending? { self.waiting.first }

    mutating func add(_ pending: Pending) {
        if pending.question == nil {
            self.assignments.append(pending)
        } else {
            self.waiting.append(pending)
        }
    }

    /// Puts proposals that were taken back in front of all others.
    mutating func putBack(_ taken: [Pending]) {
        self.assignments.insert(contentsOf: taken.filter { $0.question == nil }, at: 0)
        self.waiting.insert(contentsOf: taken.filter { $0.question != nil }, at: 0)
    }

    func place(of pending: Pending) -> Place {
        if self.waiting.first === pending { return .first }
        let isHere =
            pending.question == nil
            ? self.assignments.contains { $0 === pending }
            : self.waiting.contains { $0 === pending }
        return isHere ? .behind : .nowhere
    }

    mutating func remove(_ pending: Pending) {
        self.assignments.removeAll { $0 === pending }
        self.waiting.removeAll { $0 === pending }
    }

    mutating func removeFirst() { self.waiting.removeFirst() }

    /// Takes at most `count` of those that ask nobody; nil if there are none.
    mutating func takeAssignments(_ count: Int) -> [Pending]? {
        self.assignments.takeFirst(count)
    }

    /// Takes at most `count` of the others; nil if there are none.
    mutating func takeWaiting(_ count: Int) -> [Pending]? { self.waiting.takeFirst(count) }
}

extension Array {
    /// Removes and returns the first `count` elements, or all of them.
    mutating func takeFirst(_ count: Int) -> [Element]? {
        guard count > 0, !self.isEmpty else { return nil }
        guard count < self.count else {
            let all = self
            self = []
            return all
        }
        defer { self.removeFirst(count) }
        return Array(self[..<count])
    }
}

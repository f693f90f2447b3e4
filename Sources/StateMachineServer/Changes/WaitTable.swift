import StateMachineCore
import StateMachineProtocol

/// The waits of all connections, by what they wait for: a change costs only the waits that it ends.
///
/// Belongs to the event loop.
struct WaitTable {
    private var table = PatternTable<[ObjectIdentifier: PendingWait]>()
    /// Waits with a pattern that has no place in the table, or with one that excludes states.
    private var others: [ObjectIdentifier: PendingWait] = [:]

    var isEmpty: Bool { self.count == 0 }
    private var count = 0

    /// Checks changes against a wait from now on.
    mutating func add(_ wait: PendingWait) {
        guard !wait.isListed else { return }
        wait.isListed = true
        self.count += 1
        for pattern in wait.call.placed {
            let hasPlace = self.table.update(pattern) { waits in
                waits = waits ?? [:]
                waits?[ObjectIdentifier(wait)] = wait
            }
            if !hasPlace { self.others[ObjectIdentifier(wait)] = wait }
        }
        if wait.call.hasExceptions { self.others[ObjectIdentifier(wait)] = wait }
    }

    mutating func remove(_ wait: PendingWait) {
        guard wait.isListed else { return }
        wait.isListed = false
        self.count -= 1
        for pattern in wait.call.placed {
            self.table.update(pattern) { waits in
                waits?[ObjectIdentifier(wait)] = nil
                if waits?.isEmpty == true { waits = nil }
            }
        }
        self.others[ObjectIdentifier(wait)] = nil
    }

    /// Removes and returns the waits that a state ends.
    mutating func take(endedBy state: Value) -> [PendingWait] {
        guard !self.isEmpty else { return [] }
        var ended: [ObjectIdentifier: PendingWait] = [:]
        for waits in self.table.items(for: state) { ended.merge(waits) { first, _ in first } }
        for (key, wait) in self.others where wait.call.result(state.matches) != nil {
            ended[key] = wait
        }
        for wait in ended.values { self.remove(wait) }
        return Array(ended.values)
    }
}

extension WaitCall {
    /// Whether every change is checked against it while it waits.
    var hasExceptions: Bool { self.until.hasExceptions || self.fail.hasExceptions }

    /// The patterns by which the table finds it.
    fileprivate var placed: [Pattern] {
        self.hasExceptions ? [] : self.until.patterns + self.fail.patterns
    }
}

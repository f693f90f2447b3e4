/// The waits for units to meet conditions, and the units to query.
struct UnitWaits {
    typealias Condition = @Sendable (UnitStatus?) -> Bool
    typealias Answer = Result<UnitStatus?, BusError>

    private struct Wait {
        let unit: String
        let path: String
        let isMet: Condition
        let continuation: CheckedContinuation<Answer, Never>
        /// Whether the unit runs without a job, so that the next job can only be to stop it.
        var isAtRest = false
        var wasToldToStop = false
    }

    private var waits: [Int: Wait] = [:]
    /// Units that may have changed.
    private var stale: Set<String> = []

    var isEmpty: Bool { self.waits.isEmpty }

    mutating func append(
        _ unit: String,
        path: String,
        when isMet: @escaping Condition,
        as number: Int,
        _ continuation: CheckedContinuation<Answer, Never>
    ) {
        self.waits[number] = Wait(unit: unit, path: path, isMet: isMet, continuation: continuation)
        self.stale.insert(unit)
    }

    mutating func hear(_ signal: UnitSignal) {
        switch signal {
        case .changed(let path):
            for wait in self.waits.values where wait.path == path { self.stale.insert(wait.unit) }
        case .moved(let name):
            if self.waits.values.contains(where: { $0.unit == name }) { self.stale.insert(name) }
        case .asked(let name):
            for (number, wait) in self.waits where wait.unit == name && wait.isAtRest {
                self.waits[number]?.wasToldToStop = true
            }
        case .reloaded: self.staleAll()
        case .other: break
        }
    }

    /// Marks all units: anything may have happened, as while there was no connection.
    mutating func staleAll() {
        for wait in self.waits.values { self.stale.insert(wait.unit) }
    }

    /// Takes the units to query; after that there are none.
    mutating func takeStale() -> [String] {
        defer { self.stale = [] }
        return self.waits.isEmpty ? [] : Array(self.stale)
    }

    /// Answers the waits for these units whose conditions are met.
    mutating func answer(_ units: [String], _ found: [UnitStatus]) {
        let statuses = Dictionary(found.map { ($0.name, $0) }) { first, _ in first }
        for (number, wait) in self.waits where units.contains(wait.unit) {
            var status = statuses[wait.unit]
            let wasToldToStop = wait.wasToldToStop || status?.isBeingStopped == true
            status?.wasToldToStop = wasToldToStop
            guard wait.isMet(status) else {
                self.waits[number]?.wasToldToStop = wasToldToStop
                self.waits[number]?.isAtRest = status?.isAtRest == true
                continue
            }
            self.waits[number] = nil
            wait.continuation.resume(returning: .success(status))
        }
    }

    mutating func fail(_ number: Int, _ error: BusError) {
        self.waits.removeValue(forKey: number)?.continuation.resume(returning: .failure(error))
    }

    mutating func failAll(_ error: BusError) {
        for number in Array(self.waits.keys) { self.fail(number, error) }
    }
}

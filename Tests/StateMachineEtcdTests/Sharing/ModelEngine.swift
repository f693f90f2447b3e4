#if Cluster
@testable import StateMachineEtcd

/// What etcd is to its clients: keys with revisions, transactions that happen at one moment, leases, compaction, snapshots.
///
/// A value with nothing of a network: what is lost, late, or done twice is the simulation's.
struct ModelEngine {
    /// What one revision changed.
    struct Step {
        let revision: Int64
        let events: [WatchEvent]
    }

    /// By their keys, in order.
    private(set) var entries: [KeyValue] = []
    private(set) var revision: Int64 = 1
    /// Since the last compaction, oldest first.
    private(set) var steps: [Step] = []
    /// What is older is no longer there.
    private(set) var oldest: Int64 = 0
    /// When each ends.
    private(set) var leases: [Int64: Int64] = [:]

    private var header: ResponseHeader { ResponseHeader(revision: self.revision) }

    // MARK: - Reading

    /// The place of a key, or where it would be.
    private func place(_ key: [UInt8]) -> Int {
        var (low, high) = (0, self.entries.count)
        while low < high {
            let middle = (low + high) / 2
            if self.entries[middle].key.lexicographicallyPrecedes(key) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    private func places(_ keys: KeyRange) -> Range<Int> {
        let first = self.place(keys.first)
        guard keys.end.isEmpty else { return first..<max(first, self.place(keys.end)) }
        let isThere = first < self.entries.count && self.entries[first].key == keys.first
        return first..<(isThere ? first + 1 : first)
    }

    func entries(_ keys: KeyRange) -> ArraySlice<KeyValue> { self.entries[self.places(keys)] }

    private func read(_ range: RangeRequest) -> RangeRequest.Answer {
        let found = self.entries(range.keys)
        let taken = range.limit > 0 ? found.prefix(Int(range.limit)) : found
        return RangeRequest.Answer(self.header, Array(taken), of: found.count)
    }

    private func holds(_ comparison: Comparison) -> Bool {
        let found = self.entries(comparison.keys)
        guard found.isEmpty else { return found.allSatisfy { Self.holds(comparison, $0) } }
        if case .value = comparison.subject { return false }
        return Self.holds(comparison, KeyValue())
    }

    private static func holds(_ comparison: Comparison, _ entry: KeyValue) -> Bool {
        func compare<Number: Comparable>(_ left: Number, _ right: Number) -> Bool {
            switch comparison.relation {
            case .equal: left == right
            case .greater: left > right
            case .less: left < right
            case .notEqual: left != right
            }
        }
        return switch comparison.subject {
        case .version(let number): compare(entry.version, number)
        case .createRevision(let number): compare(entry.createRevision, number)
        case .modRevision(let number): compare(entry.modRevision, number)
        case .lease(let number): compare(entry.lease, number)
        case .value(let bytes):
            switch comparison.relation {
            case .equal: entry.value == bytes
            case .notEqual: entry.value != bytes
            case .less: entry.value.lexicographicallyPrecedes(bytes)
            case .greater: bytes.lexicographicallyPrecedes(entry.value)
            }
        }
    }

    // MARK: - Changing

    /// Does it, all at one revision.
    mutating func perform(_ request: TransactionRequest) -> Outcome<TransactionRequest.Answer> {
        let succeeded = request.comparisons.allSatisfy { self.holds($0) }
        let operations = succeeded ? request.success : request.failure
        if let refusal = self.refusal(operations) { return .refused(refusal) }
        let next = self.revision + 1
        var events: [WatchEvent] = []
        var results: [TransactionRequest.Result] = []
        for operation in operations {
            switch operation {
            case .range(let range): results.append(.range(self.read(range)))
            case .put(let put):
                events.append(self.put(put, at: next))
                results.append(.put)
            case .delete(let delete):
                events += self.delete(self.places(delete.keys), at: next)
                results.append(.delete(DeleteRequest.Answer()))
            }
        }
        self.note(events, at: next)
        return .answered(TransactionRequest.Answer(self.header, succeeded: succeeded, results))
    }

    /// Why etcd does not take these.
    private func refusal(_ operations: [TransactionRequest.Operation]) -> Refusal? {
        var puts: Set<[UInt8]> = []
        for case .put(let put) in operations {
            let key = Array(put.key.utf8)
            if put.lease != 0, self.leases[put.lease] == nil {
                return Refusal(kind: .leaseGone, description: "no lease")
            }
            let isDouble = !puts.insert(key).inserted
            let isDeleted = operations.contains { operation in
                if case .delete(let delete) = operation { delete.keys.contains(key) } else { false }
            }
            if isDouble || isDeleted {
                return Refusal(kind: .invalid, description: "duplicate key \(put.key)")
            }
            if put.value == nil, self.entries(KeyRange(put.key)).isEmpty {
                return Refusal(kind: .invalid, description: "no key \(put.key)")
            }
        }
        return nil
    }

    private mutating func put(_ put: PutRequest, at revision: Int64) -> WatchEvent {
        let key = Array(put.key.utf8)
        let place = self.place(key)
        let old =
            place < self.entries.count && self.entries[place].key == key ? self.entries[place] : nil
        let entry = KeyValue(
            key,
            put.value ?? old?.value ?? [],
            created: old?.createRevision ?? revision,
            modified: revision,
            version: (old?.version ?? 0) + 1,
            lease: put.lease
        )
        if old == nil { self.entries.insert(entry, at: place) } else { self.entries[place] = entry }
        return WatchEvent(entry)
    }

    private mutating func delete(_ places: Range<Int>, at revision: Int64) -> [WatchEvent] {
        defer { self.entries.removeSubrange(places) }
        return self.entries[places].map { entry in
            WatchEvent(
                KeyValue(entry.key, [], created: 0, modified: revision, version: 0),
                isDeletion: true
            )
        }
    }

    private mutating func note(_ events: [WatchEvent], at revision: Int64) {
        guard !events.isEmpty else { return }
        self.revision = revision
        self.steps.append(Step(revision: revision, events: events))
    }

    // MARK: - Leases, compaction, snapshots

    mutating func grant(_ lease: Int64, until end: Int64) { self.leases[lease] = end }

    /// Whether it was there to be kept.
    mutating func keepAlive(_ lease: Int64, until end: Int64) -> Bool {
        guard self.leases[lease] != nil else { return false }
        self.leases[lease] = end
        return true
    }

    /// Ends the leases that are over, with their keys.
    mutating func endLeases(at now: Int64) {
        for lease in self.leases.filter({ $0.value <= now }).keys.sorted() {
            self.leases[lease] = nil
            let next = self.revision + 1
            var events: [WatchEvent] = []
            while let index = self.entries.firstIndex(where: { $0.lease == lease }) {
                events += self.delete(index..<index + 1, at: next)
            }
            self.note(events, at: next)
        }
    }

    mutating func compact(to revision: Int64) {
        self.oldest = max(self.oldest, revision)
        self.steps.removeAll { $0.revision < revision }
    }

    /// The same with every lease as long as it may last, as after a restore or under a new leader.
    mutating func extendLeases(until end: Int64) {
        for lease in self.leases.keys { self.leases[lease] = end }
    }
}
#endif

#if Cluster
import StateMachineProtocol

/// What a read shows of one host's own keys: its record, and its holds and guards that are leased.
struct OwnKeys {
    struct Record {
        /// Nil if this program does not know it.
        let value: HostRecord?
        let lease: Int64
        let revision: Int64
    }

    struct Voter {
        let value: [UInt8]
        let lease: Int64
    }

    let revision: Int64
    private(set) var record: Record?
    private(set) var voters: [UInt64: Voter] = [:]
    /// Whether the machine has begun.
    private(set) var hasHead = false

    init(_ answer: TransactionRequest.Answer, of host: String, _ keys: SharedKeys) {
        self.revision = answer.header.revision
        for case .range(let range) in answer.results {
            for entry in range.entries {
                switch keys.subject(of: entry.key) {
                case .host(host):
                    self.record = Record(
                        value: try? HostRecord(reading: entry.value),
                        lease: entry.lease,
                        revision: entry.modRevision
                    )
                // Those without a lease outlive every session.
                case .voter(let voter) where voter.host == host && entry.lease != 0:
                    self.voters[voter.number] = Voter(value: entry.value, lease: entry.lease)
                case .head: self.hasHead = true
                case .block, .host, .voter, .ticket, .settings, nil: break
                }
            }
        }
    }
}

extension SharedKeys {
    private func voters(of host: String) -> KeyRange {
        KeyRange(prefix: "\(self.prefix)voters/\(host)/")
    }

    /// Reads, as a quorum has it, what a host has there.
    func look(ownOf host: String) -> TransactionRequest {
        TransactionRequest(
            if: [],
            then: [
                .range(RangeRequest(KeyRange(self.host(host)))),
                .range(RangeRequest(self.voters(of: host))),
                .range(RangeRequest(KeyRange(self.head))),
            ]
        )
    }

    /// Puts a host's record, and those of its voters onto the record's lease, or deletes them, if all is as it was read.
    ///
    /// The head is put as it is, so that whoever watches sees by its version that something has happened; and what an earlier life of the
    /// host may have under way can no longer be applied.
    func register(
        _ host: String,
        _ record: HostRecord,
        over own: OwnKeys,
        _ voters: [UInt64],
        areKept: Bool
    ) -> TransactionRequest {
        let lease = record.session
        var operations: [TransactionRequest.Operation] = [
            .put(PutRequest(self.host(host), record.bytes, lease: lease))
        ]
        if own.hasHead { operations.append(.put(PutRequest(self.head, nil))) }
        for number in voters {
            let key = self.voter(Voter(host, number))
            operations.append(
                areKept
                    ? .put(PutRequest(key, nil, lease: lease))
                    : .delete(DeleteRequest(KeyRange(key)))
            )
        }
        return TransactionRequest(
            if: [
                Comparison(
                    KeyRange(self.host(host)),
                    .equal,
                    .modRevision(own.record?.revision ?? 0)
                ),
                Comparison(self.voters(of: host), .less, .modRevision(own.revision + 1)),
            ],
            then: operations
        )
    }

    /// Puts a host's record if it is still under that lease; without one it only sees whether it is.
    func check(_ host: String, lease: Int64, _ record: HostRecord?) -> TransactionRequest {
        let key = self.host(host)
        return TransactionRequest(
            if: [Comparison(KeyRange(key), .equal, .lease(lease))],
            then: [
                record.map { .put(PutRequest(key, $0.bytes, lease: lease)) }
                    ?? .range(RangeRequest(KeyRange(key)))
            ]
        )
    }
}
#endif

#if Cluster
package import StateMachineProtocol

/// What a transaction has read of the machine, at one revision.
package struct SharedReading: Sendable {
    /// Why nothing was learned.
    package enum Unreadable: Error, Hashable {
        /// A later program has written it.
        case later
        case damaged(Damage)
    }

    /// A value that cannot be what it stands for.
    package struct Damage: Hashable, Sendable, CustomStringConvertible {
        package let key: String
        package let why: String

        package var description: String { "the engine's key \(self.key) is damaged: \(self.why)" }
    }

    /// A block, or what stands in its place; nil if that is none.
    package struct Found: Sendable {
        package let mark: Restoration.Mark
        package let block: Block?
    }

    package let revision: Int64
    /// Nil if there is none.
    package private(set) var head: Head?
    package private(set) var headRevision: Int64 = 0
    package private(set) var headVersion: Int64 = 0
    /// In order, the first ones of those that were asked for.
    package private(set) var blocks: [Found] = []
    /// Whether there are more behind them.
    package private(set) var hasMoreBlocks = false
    package private(set) var voters: [SharedKeys.Voter: [UInt8]] = [:]
    /// Those that end with a session.
    package private(set) var leased: Set<SharedKeys.Voter> = []
    /// By the revision at which they were created.
    package private(set) var tickets: [SharedKeys.Ticket: Int64] = [:]
    package private(set) var settings: SharedSettings?

    /// - Throws: if head or settings are not what this program knows; a block that is not may be passed by.
    init(_ answer: TransactionRequest.Answer, of keys: SharedKeys) throws(Unreadable) {
        self.revision = answer.header.revision
        let settings = Array(keys.settings.utf8)
        for case .range(let range) in answer.results {
            for entry in range.entries where entry.key == settings {
                // Of a later layout nothing else has to be as it is here.
                let layout = try? SharedMembers(entry.value).number("layout")
                if let layout, layout > SharedSettings.newestLayout { throw .later }
                self.settings = try Self.read(entry)
            }
        }
        for case .range(let range) in answer.results {
            // Only of blocks some may be left out.
            self.hasMoreBlocks = self.hasMoreBlocks || range.hasMore
            for entry in range.entries {
                switch keys.subject(of: entry.key) {
                case .head:
                    self.head = try Self.read(entry)
                    (self.headRevision, self.headVersion) = (entry.modRevision, entry.version)
                case .block(_, let first):
                    self.blocks.append(
                        Found(
                            mark: Restoration.Mark(first, entry.value),
                            block: Block(at: first, entry.value)
                        )
                    )
                case .voter(let voter):
                    self.voters[voter] = entry.value
                    if entry.lease != 0 { self.leased.insert(voter) }
                case .ticket(let ticket): self.tickets[ticket] = entry.createRevision
                case .host, .settings, nil: break
                }
            }
        }
    }

    private static func read<Value: SharedValue>(_ entry: KeyValue) throws(Unreadable) -> Value {
        do {
            return try Value(reading: entry.value)
        } catch {
            let key = String(decoding: entry.key, as: UTF8.self)
            throw .damaged(Damage(key: key, why: error.description))
        }
    }

    /// The block that begins there; nil if it was not read.
    package func found(_ first: UInt64) -> Found? { self.blocks.first { $0.mark.first == first } }
}

extension Block {
    /// What is under a block's key; nil if it is no block, or another's.
    init?(at first: UInt64, _ bytes: [UInt8]) {
        guard let block = try? Block(reading: bytes), block.first == first else {
            // The caller goes by the head instead.
            return nil
        }
        self = block
    }
}

/// What is sent to the engine.
extension SharedKeys {
    /// Blocks that are read at once.
    ///
    /// 16: a block may have 1 MiB, and an answer 32.
    static let page: Int64 = 16

    /// Reads, as a quorum has it, what a host has to know: the head, the log from that block on, voters, tickets, settings.
    package func look(_ memory: Restoration.Memory?) -> TransactionRequest {
        TransactionRequest(if: [], then: self.readings(memory))
    }

    private func readings(_ memory: Restoration.Memory?) -> [TransactionRequest.Operation] {
        var ranges = [
            RangeRequest(KeyRange(self.head)), RangeRequest(self.voters), RangeRequest(self.queue),
        ]
        ranges.append(RangeRequest(KeyRange(self.settings)))
        if let memory {
            let first = memory.block?.first ?? memory.seq + 1
            ranges.append(
                RangeRequest(self.blocks(of: memory.epoch, from: first), limit: Self.page)
            )
        }
        return ranges.map { .range($0) }
    }

    /// Begins the machine, if nobody has; the log of the epoch `former` goes.
    package func begin(
        _ head: Head,
        _ settings: SharedSettings?,
        after former: Epoch? = nil
    ) -> TransactionRequest {
        var puts = [PutRequest(self.head, head.bytes)]
        if let settings { puts.append(PutRequest(self.settings, settings.bytes)) }
        let rest = former.map { DeleteRequest(self.blocks(of: $0)) }
        return TransactionRequest(
            if: [Comparison(KeyRange(self.head), .equal, .version(0))],
            then: puts.map { .put($0) } + [rest].compactMap(\.self).map { .delete($0) }
        )
    }

    /// Deletes holds or guards, if none is newer than the revision up to which they were seen.
    package func remove(_ voters: [Voter], seen revision: Int64) -> TransactionRequest {
        TransactionRequest(
            if: [Comparison(self.voters, .less, .modRevision(revision + 1))],
            then: voters.map { .delete(DeleteRequest(KeyRange(self.voter($0)))) }
        )
    }

    /// Commits: puts that head if the present one is of that revision and no voter is newer than `voters`; reads what is there otherwise.
    ///
    /// With `ticket`, the revision at which the own one was created, only if none is older; without, only if there is none.
    package func commit(
        _ head: Head,
        over headRevision: Int64,
        voters: Int64,
        ticket: Int64?,
        _ operations: [TransactionRequest.Operation],
        knowing memory: Restoration.Memory
    ) -> TransactionRequest {
        TransactionRequest(
            if: [
                Comparison(KeyRange(self.head), .equal, .modRevision(headRevision)),
                Comparison(self.voters, .less, .modRevision(voters + 1)),
                // A range without keys is compared as 0: with a ticket that is gone this does not hold.
                ticket.map { Comparison(self.queue, .greater, .createRevision($0 - 1)) }
                    ?? Comparison(self.queue, .less, .createRevision(1)),
            ],
            then: [.put(PutRequest(self.head, head.bytes))] + operations,
            else: self.readings(memory)
        )
    }

    /// Puts the head as it is, if it is still of that revision.
    package func fence(_ head: Head, over headRevision: Int64) -> TransactionRequest {
        TransactionRequest(
            if: [Comparison(KeyRange(self.head), .equal, .modRevision(headRevision))],
            then: [.put(PutRequest(self.head, head.bytes))]
        )
    }

    /// Gives the head another epoch, with a log of its own.
    package func restart(
        _ head: Head,
        over headRevision: Int64,
        as epoch: Epoch,
        after known: Restoration.Memory
    ) -> TransactionRequest {
        let next = head.restarted(as: epoch, after: known.earlier + [known.epoch])
        return TransactionRequest(
            if: [Comparison(KeyRange(self.head), .equal, .modRevision(headRevision))],
            then: [
                .put(PutRequest(self.head, next.bytes)),
                .delete(DeleteRequest(self.blocks(of: head.epoch))),
            ]
        )
    }

    package func put(_ ticket: Ticket, lease: Int64) -> TransactionRequest {
        let key = self.ticket(ticket)
        return TransactionRequest(
            if: [Comparison(KeyRange(key), .equal, .version(0))],
            then: [.put(PutRequest(key, Array("{}".utf8), lease: lease))]
        )
    }

    /// Deletes a ticket, unless it is another one by now.
    package func remove(_ ticket: Ticket, created: Int64) -> TransactionRequest {
        let key = self.ticket(ticket)
        return TransactionRequest(
            if: [Comparison(KeyRange(key), .equal, .createRevision(created))],
            then: [.delete(DeleteRequest(KeyRange(key)))]
        )
    }

    /// Puts the host's record as it is, to see whether the engine has room again.
    package func touch(_ host: String, lease: Int64) -> TransactionRequest {
        let key = self.host(host)
        return TransactionRequest(
            if: [Comparison(KeyRange(key), .greater, .version(0))],
            then: [.put(PutRequest(key, nil, lease: lease))]
        )
    }
}
#endif

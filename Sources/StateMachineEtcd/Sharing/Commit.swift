#if Cluster
import StateMachineProtocol

/// A group as one transaction, and what is so once that was applied.
struct Commit: Sendable {
    struct Written: Sendable {
        let block: Block
        let mark: Restoration.Mark
    }

    /// What a read shows of one whose answer was lost.
    enum Trace {
        case found
        case missing
        /// What stands in its place is no longer there: nobody can tell.
        case pruned
    }

    let head: Head
    /// Its changes; nil if it has none.
    let block: Written?
    /// What it says anew of the last change.
    let renewed: SharedChange?
    /// The own ticket that it puts in the place of the one that it takes.
    let swap: SharedKeys.Ticket?
    /// What was known when it was sent.
    let knowing: Restoration.Memory
    /// The revision of the head that it compares.
    let headRevision: Int64
    let request: TransactionRequest
    /// Own holds and guards that it puts, those that outlive the session, and those that it ends.
    let put: Set<UInt64>
    let lasting: [UInt64: [UInt8]]
    let ended: Set<UInt64>
    /// The session that what it puts belongs to.
    let session: Int64
    /// What was there before.
    private let base: Head?
    private let host: String
    private let voters: [UInt64: [UInt8]?]

    /// Nil if nothing is known to commit over.
    init?(
        _ group: SharedMachine.Group,
        by author: Block.Author,
        over mirror: EngineMirror,
        of settings: SharedMachine.Settings
    ) {
        guard let memory = mirror.memory, var head = mirror.head else { return nil }
        let keys = settings.keys
        var operations: [TransactionRequest.Operation] = []
        var written: Written?
        if let last = group.changes.last {
            let block = Block(first: head.seq + 1, by: author, group.changes)
            let bytes = block.bytes
            operations.append(.put(PutRequest(keys.block(head.epoch, first: block.first), bytes)))
            written = Written(block: block, mark: Restoration.Mark(block.first, bytes))
            (head.seq, head.block, head.last) = (block.last, head.block + 1, last)
            (head.author, head.form) = (nil, settings.form)
            if head.block % settings.pruneEvery == 0,
                let pruning = Self.pruning(head, mirror.keepChanges, settings)
            {
                operations.append(pruning)
            }
        }
        if let renewed = group.renewed { (head.last, head.author) = (renewed, author) }
        for (number, value) in group.voters.sorted(by: { $0.key < $1.key }) {
            let key = keys.voter(SharedKeys.Voter(settings.host, number))
            let lease = group.lasting.contains(number) ? 0 : author.session
            operations.append(
                value.map { .put(PutRequest(key, $0, lease: lease)) }
                    ?? .delete(DeleteRequest(KeyRange(key)))
            )
        }
        let (own, swap) = (mirror.queue.own, mirror.queue.swap)
        if let own { operations.append(.delete(DeleteRequest(KeyRange(keys.ticket(own.ticket))))) }
        if let swap {
            operations.append(
                .put(PutRequest(keys.ticket(swap), Array("{}".utf8), lease: author.session))
            )
        }
        (self.head, self.block, self.swap, self.knowing) = (head, written, swap, memory)
        (self.base, self.renewed) = (mirror.head, group.renewed)
        (self.host, self.voters, self.headRevision) = (
            settings.host, group.voters, mirror.headRevision
        )
        let put = group.voters.compactMapValues(\.self)
        self.put = Set(put.keys).subtracting(group.lasting)
        self.lasting = put.filter { group.lasting.contains($0.key) }
        self.ended = Set(group.voters.filter { $0.value == nil }.keys)
        self.session = author.session
        self.request = keys.commit(
            head,
            over: mirror.headRevision,
            voters: mirror.votersRevision,
            ticket: own?.created,
            operations,
            knowing: memory
        )
    }

    /// Deletes blocks that nobody needs: which ones end there is not known, but not how long they can be.
    private static func pruning(
        _ head: Head,
        _ keepChanges: UInt64,
        _ settings: SharedMachine.Settings
    ) -> TransactionRequest.Operation? {
        let kept = keepChanges + settings.largestGroup
        guard head.seq >= kept else { return nil }
        return .delete(
            DeleteRequest(settings.keys.blocks(of: head.epoch, before: head.seq - kept + 2))
        )
    }

    /// What a read, which has that head, shows of it.
    func trace(in reading: SharedReading, _ head: Head) -> Trace {
        guard let block = self.block?.block else {
            if self.voters.isEmpty { return self.trace(of: self.head, in: head) }
            let isThere = self.voters.allSatisfy { number, value in
                reading.voters[SharedKeys.Voter(self.host, number)] == value
            }
            return isThere ? .found : .missing
        }
        if let found = reading.found(block.first) {
            return found.block?.author == block.author ? .found : .missing
        }
        return head.seq >= block.first ? .pruned : .missing
    }

    /// The same of one that has put nothing but the head, which says who did until another does.
    private func trace(of own: Head, in head: Head) -> Trace {
        if head.author == own.author { return .found }
        return head == self.base ? .missing : .pruned
    }
}
#endif

#if Cluster
package import StateMachineProtocol

/// Whether the engine is still the one that a host knows, or an older snapshot of it was put back.
///
/// Only reads by a quorum are judged, since a member that lags shows older things too; and by what was known when they were begun, since more may have
/// become known until they were answered. A value.
package struct Restoration: Sendable {
    /// What a host remembers, also over its own end.
    package struct Memory: Hashable, Sendable {
        package var epoch: Epoch
        /// Those before it: an engine that has one of them is older.
        package var earlier: [Epoch]
        package var seq: UInt64
        /// The newest that the engine has had.
        package var revision: Int64
        /// The newest that its head has had; a put of the head alone is seen by nothing else.
        package var head: Int64 = 0
        /// The last block: its first seq and what tells it from others; nil if none was seen yet.
        package var block: Mark?

        package init(
            _ epoch: Epoch,
            after earlier: [Epoch] = [],
            seq: UInt64,
            revision: Int64,
            block: Mark? = nil
        ) {
            (self.epoch, self.earlier, self.seq) = (epoch, earlier, seq)
            (self.revision, self.block) = (revision, block)
        }
    }

    package struct Mark: Hashable, Sendable {
        package let first: UInt64
        package let digest: UInt64

        package init(first: UInt64, digest: UInt64) { (self.first, self.digest) = (first, digest) }

        package init(_ first: UInt64, _ block: [UInt8]) {
            // FNV-1a: tells apart what chance makes; whoever may write here needs no collision to do harm.
            let digest = block.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01b3
            }
            self.init(first: first, digest: digest)
        }
    }

    /// What a read shows.
    package struct Seen: Hashable, Sendable {
        package let revision: Int64
        /// The head's.
        package let head: Int64
        package let epoch: Epoch
        package let seq: UInt64
        /// The first of its blocks that begins where the last known one does, or later; nil if there is none.
        package let block: Mark?
        /// How many changes the log has at least.
        package let kept: UInt64

        package init(
            revision: Int64,
            head: Int64,
            _ epoch: Epoch,
            seq: UInt64,
            block: Mark?,
            kept: UInt64
        ) {
            (self.revision, self.head, self.epoch) = (revision, head, epoch)
            (self.seq, self.block, self.kept) = (seq, block, kept)
        }
    }

    package enum Judgement: Hashable, Sendable {
        case same
        /// It has another epoch, which this host has not had: begin there.
        case elsewhere
        /// It is older than what is known, and nobody has begun an epoch since.
        case restored(String)
    }

    package private(set) var memory: Memory?

    package init(_ memory: Memory? = nil) { self.memory = memory }

    /// Notes that the engine is there, however it was before.
    package mutating func begin(_ memory: Memory) { self.memory = memory }

    /// Notes that it has had that revision.
    package mutating func reached(revision: Int64) {
        guard var memory = self.memory else { return }
        memory.revision = max(memory.revision, revision)
        self.memory = memory
    }

    /// Notes a block, which ends at that seq.
    package mutating func reached(_ seq: UInt64, _ block: Mark) {
        self.memory?.seq = seq
        self.memory?.block = block
    }

    /// What a read shows of the engine; `known` is the memory when it was begun.
    package static func judge(_ seen: Seen, since known: Memory) -> Judgement {
        if known.earlier.contains(seen.epoch) {
            return .restored("it is in epoch \(seen.epoch), which had ended")
        }
        guard seen.epoch == known.epoch else { return .elsewhere }
        if seen.revision < known.revision {
            return .restored("it is at revision \(seen.revision) and was at \(known.revision)")
        }
        if seen.head < known.head {
            return .restored("its head is of revision \(seen.head) and was of \(known.head)")
        }
        if seen.seq < known.seq {
            return .restored("it is at seq \(seen.seq) and was at \(known.seq)")
        }
        guard let own = known.block else { return .same }
        if let block = seen.block, block.first == own.first {
            return block.digest == own.digest
                ? .same : .restored("seq \(own.first) is another change than it was")
        }
        // Missing: pruned, if that may be, or never there.
        guard seen.seq - known.seq >= seen.kept else {
            return .restored("seq \(known.seq) is missing")
        }
        return .same
    }
}
#endif

internal import Synchronization

/// A peer as a change carries it: numbers alone, so that it adds nothing to the cost of copying the
/// change.
package struct CompactPeer: Sendable {
    package let uid: UInt32
    package let pid: Int32
    /// The program's number among the ``RecentPrograms``; 0 if it is not known.
    private let program: UInt64

    package init(_ peer: Peer) {
        self.uid = peer.uid
        self.pid = peer.pid
        self.program = peer.program.map { RecentPrograms.shared.number(of: $0) } ?? 0
    }

    /// The peer; without its program, if ``RecentPrograms/capacity`` others have set since.
    package var peer: Peer {
        Peer(uid: self.uid, pid: self.pid, program: RecentPrograms.shared[self.program])
    }
}

extension CompactPeer: Hashable {
    package static func == (left: CompactPeer, right: CompactPeer) -> Bool {
        guard left.uid == right.uid, left.pid == right.pid else { return false }
        return left.program == right.program || left.peer.program == right.peer.program
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.uid)
        hasher.combine(self.pid)
    }
}

extension CompactPeer: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(try Peer(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws {
        try self.peer.encode(to: encoder)
    }
}

/// The programs that have set something lately, each under a number that is given once.
final class RecentPrograms: Sendable {
    static let shared = RecentPrograms()

    /// How many are kept.
    ///
    /// 4096: a change is delivered and written down before that many others set. Some 1.5 MiB with
    /// the longest names. Not tuned.
    static let capacity = 4096

    private struct Programs: Sendable {
        /// The program with number `n` is at `n % capacity`.
        var kept: [Program?] = [nil]
        var last: UInt64 = 0
    }

    private let programs = Lock(Programs())

    /// The program's number, a new one if others have taken its place.
    func number(of program: Program) -> UInt64 {
        let known = program.number.load(ordering: .relaxed)
        guard known == 0 else { return known }
        // The program that makes room is released after the lock.
        let (number, _) = self.programs.withLock { programs -> (UInt64, Program?) in
            let known = program.number.load(ordering: .relaxed)
            guard known == 0 else { return (known, nil) }
            programs.last += 1
            let place = Int(programs.last % UInt64(Self.capacity))
            if place == programs.kept.count { programs.kept.append(nil) }
            let oldest = exchange(&programs.kept[place], with: program)
            oldest?.number.store(0, ordering: .relaxed)
            program.number.store(programs.last, ordering: .relaxed)
            return (programs.last, oldest)
        }
        return number
    }

    /// The program with that number; nil if it is 0, or others have taken its place.
    subscript(number: UInt64) -> Program? {
        guard number != 0 else { return nil }
        return self.programs.withLock { programs in
            let program = programs.kept[Int(number % UInt64(Self.capacity))]
            return program?.number.load(ordering: .relaxed) == number ? program : nil
        }
    }
}

import NIOCore
import StateMachineCore
import StateMachineProtocol

/// All changes that can be read: the newest are in the ring, what is older on the disk, if there is a history.
///
/// The only place where the two are put together. Belongs to the event loop.
final class Past {
    /// What a reader has to do next.
    enum Step<Piece: Sendable> {
        /// Look at these, which are in the ring, as far as there is time.
        case ring(ClosedRange<UInt64>)
        /// Take what the history has next.
        case read(Piece)
        /// Learn what has declared the states after its cursor.
        case declared(Declared)
        /// Wait: the history is being read, and then its connection has a turn.
        case wait
        /// Pass over what is no longer available; `next` is where there is something again, or one beyond the end.
        ///
        /// `isPruned`: it was removed on purpose, or there is nothing but the ring for this reader.
        case lost(next: UInt64, isPruned: Bool)
        /// The history cannot be read.
        case unreadable(HistoryFailure)
        /// Nothing: it has come to its end, or to the newest change.
        case end
    }

    @exclusivity(unchecked) private(set) var epoch: Epoch
    @exclusivity(unchecked) var ring: ChangeRing
    /// What has declared the machine.
    var declarations: [Declared]
    /// What reads the changes that the ring no longer has; nil without a history.
    let disk: HistoryReader?

    init(ring: consuming ChangeRing, declarations: [Declared], disk: HistoryReader?) {
        self.epoch = disk?.epoch ?? .random()
        self.ring = ring
        self.declarations = declarations
        self.disk = disk
    }

    /// Begins behind that change: there is nothing before it.
    ///
    /// In another numbering declarations count from there as well.
    func begin(after seq: UInt64, with ring: consuming ChangeRing, in epoch: Epoch) {
        self.ring = ring
        guard epoch != self.epoch else { return }
        self.epoch = epoch
        self.declarations = self.declarations.suffix(1).map {
            Declared(declaration: $0.declaration, seq: seq)
        }
    }

    /// The oldest change that can be read.
    var first: UInt64 { min(self.ring.first, self.disk?.first ?? .max) }

    /// The seq that a cursor stands for; nil if it is none of this numbering.
    func seq(of cursor: String) -> UInt64? {
        Cursor(cursor)?.seq(in: self.epoch, after: self.disk?.earlier ?? [:])
    }

    /// The last change before what a request is to look at: the one of its cursor, or another if it has none, or one
    /// that cannot be used.
    ///
    /// Of that it says why, and how many changes the reader has missed; nil if that is unknown.
    func start(
        _ since: String?,
        else other: UInt64
    ) -> (after: UInt64, resync: ServerLine.Resync?, missed: UInt64?) {
        guard let since else { return (other, nil, nil) }
        guard Cursor(since) != nil else { return (other, .unknown, nil) }
        guard let seq = self.seq(of: since) else { return (other, .restarted, nil) }
        let head = self.ring.head
        if seq > head { return (other, .unknown, nil) }
        if seq + 1 < self.first { return (other, .evicted, head - seq) }
        return (seq, nil, nil)
    }

    /// What a reader has to do next from where it stands.
    ///
    /// `asking` says what it wants from the history, and what is made of that, off the event loop and in the turn of
    /// the output's user.
    func next<Piece>(
        _ cursor: PastCursor<Piece>,
        for output: Output,
        asking: (inout TransitionQuery) -> @Sendable (TransitionFinding) -> Piece
    ) -> Step<Piece> {
        var end = min(cursor.end, self.ring.head)
        if cursor.declarations < self.declarations.count {
            let declared = self.declarations[cursor.declarations]
            guard cursor.seq < declared.seq else { return .declared(declared) }
            end = min(end, declared.seq)
        }
        guard cursor.seq < end else { return .end }
        let isNewestFirst = cursor.isNewestFirst
        // Of an outline the history makes more at once.
        if self.disk == nil || !cursor.prefersDisk {
            if !isNewestFirst, self.ring.reaches(back: cursor.seq) {
                return .ring(cursor.seq + 1...end)
            }
            if isNewestFirst, end >= self.ring.first {
                return .ring(max(cursor.seq + 1, self.ring.first)...end)
            }
        }
        guard let disk, cursor.reachesDisk else {
            let next = isNewestFirst ? cursor.seq : min(self.ring.first, end + 1)
            return .lost(next: next, isPruned: true)
        }
        switch cursor.state {
        case .asked: return .wait
        case .idle:
            cursor.state = .asked
            var query = TransitionQuery(
                after: cursor.seq,
                before: end + 1,
                isNewestFirst: isNewestFirst
            )
            let make = asking(&query)
            disk.read(
                query,
                for: output.peer.uid,
                making: { (first: $0.first, piece: make($0)) },
                done: output.handing { cursor.arrived($0, isBlocked: output.isBlocked) }
            )
            return .wait
        case .arrived(.failure(let failure)):
            cursor.state = .idle
            return .unreadable(failure)
        case .arrived(.success(let chunk)):
            cursor.state = .idle
            if chunk.first == (isNewestFirst ? end : cursor.seq + 1) { return .read(chunk.piece) }
            // What the disk has lost the ring may have.
            let isInRing = !isNewestFirst && !cursor.prefersDisk
            let next = isInRing ? min(chunk.first, self.ring.first) : chunk.first
            return .lost(next: next, isPruned: disk.first > cursor.seq + 1)
        }
    }

    /// Looks up the first change up to `end` that was made at a time or later, one past it if none was.
    ///
    /// Without a history `done` is called at once, else on the loop in the user's turn.
    func position(
        of time: WallTime,
        upTo end: UInt64,
        for output: Output,
        done: @escaping (Result<UInt64, HistoryFailure>) -> Void
    ) {
        if let disk {
            let done = output.handing(to: done)
            return disk.locate(time, upTo: end, for: output.peer.uid, done: done)
        }
        var (first, end) = (self.ring.first, end + 1)
        while first < end {
            let middle = first + (end - first) / 2
            if self.ring[middle].change.at < time {
                first = middle + 1
            } else {
                end = middle
            }
        }
        done(.success(first))
    }
}

/// How far one reader has come, and its request for the next few changes that are not in the ring.
///
/// There is one request at a time. Belongs to the event loop.
final class PastCursor<Piece: Sendable>: RestingCursor {
    /// What was read, and the first change that there was.
    typealias Chunk = Result<(first: UInt64, piece: Piece), HistoryFailure>

    fileprivate enum State {
        case idle
        case asked
        // Apart, since most cursors are never given one.
        indirect case arrived(Chunk)
    }

    /// The last that it may come to; where the newest comes first, the one that comes next.
    var end = UInt64.max
    let isNewestFirst: Bool
    /// How many of the declarations it knows.
    var declarations: Int
    /// Whether it is to be given what the ring no longer has; a watch is only while it replays.
    var reachesDisk = true
    /// Whether it is to be given what the ring has from the disk too.
    let prefersDisk: Bool
    /// Whether what was read is kept while the client does not read; otherwise it is read again, so that a reader
    /// whose socket is full costs its cursor and nothing else.
    private let keepsPieces: Bool
    fileprivate var state = State.idle

    init(
        after seq: UInt64,
        declarations: Int = .max,
        isNewestFirst: Bool = false,
        prefersDisk: Bool = false,
        keepsPieces: Bool = false
    ) {
        self.declarations = declarations
        self.isNewestFirst = isNewestFirst
        self.prefersDisk = prefersDisk
        self.keepsPieces = keepsPieces
        super.init(after: seq)
    }

    /// Whether later lines of the connection have to wait for this reader's.
    var isReading: Bool {
        switch self.state {
        case .asked: true
        case .idle, .arrived: false
        }
    }

    /// Notes that everything as far as that change has been looked at.
    func passed(to seq: UInt64) {
        if self.isNewestFirst {
            self.end = max(seq, self.seq + 1) - 1
        } else {
            self.seq = seq
        }
    }

    fileprivate func arrived(_ chunk: Chunk, isBlocked: Bool) {
        self.state = isBlocked && !self.keepsPieces ? .idle : .arrived(chunk)
    }
}

/// A declaration that watches are told of.
struct Declared {
    let declaration: RecordedDeclaration
    /// The first change whose state it declares.
    let seq: UInt64
}

/// What has declared the machine since this process has served it, and how much of that each watch knows; empty if the
/// program itself defines the states.
extension [Declared] {
    /// The hash of the newest declaration that a watch knows.
    func hash(knownTo watch: Watch) -> String? {
        watch.cursor.declarations > 0
            ? self[watch.cursor.declarations - 1].declaration.hash : nil
    }

    /// How many declarations a watch of the last process knows, given the hash of the last one that it was told
    /// of: all but the present one if that is another.
    func count(knownBefore hash: String?) -> Int {
        guard let hash, let present = self.last, present.declaration.hash != hash else {
            return self.count
        }
        return self.count - 1
    }
}

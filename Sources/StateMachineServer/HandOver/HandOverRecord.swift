import FoundationEssentials
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// What a process tells the next about the connections that it leaves with the service manager.
///
/// Mostly the same build reads it, after an upgrade another: a record of another version is not
/// read, and its clients connect anew.
struct HandOverRecord: Codable, Equatable {
    /// Raised whenever the format changes.
    static let currentVersion = 2

    /// A client's progress, and what is not yet on its way to it.
    struct Connection: Codable, Equatable {
        /// The socket's inode, by which the descriptor is found again.
        var socket: UInt64
        var door: Door
        /// Whether it was served; if not, it was waiting to be.
        var isOpen: Bool
        /// The client's input that was not dealt with.
        var input = Data()
        /// What is left of the line that the socket did not take whole, and the replies in it.
        var unsent = Data()
        var unsentReplies = 0
        var outbox: [Segment] = []
        var history: History?
        var watches: [Watch] = []
        var waits: [Wait] = []
        var holds: [Voter] = []
        var guards: [Voter] = []
        /// The program at its other end, which may have gone since; nil if the process did not say.
        var program: Program?
        var resyncs: UInt64 = 0
        var bytes: UInt64 = 0
    }

    struct Segment: Codable, Equatable {
        var bytes: Data
        var replies: Int
        var mark: Mark?

        /// What happens to a watch, by its place among the watches, when the segment is written.
        enum Mark: Codable, Equatable {
            case start(Int)
            case end(Int)
            case history(History)
        }
    }

    /// An answer to `history` that is being written.
    struct History: Codable, Equatable {
        var request: Data
        var cursor: UInt64
        var end: UInt64
        var count: UInt64
        var resync: ServerLine.Resync?
    }

    struct Watch: Codable, Equatable {
        /// The line that asked for it; nil for the watch of the events door.
        var request: Data?
        var phase: StateMachineServer.Watch.Phase
        /// Whether it is to begin with earlier changes.
        var isToReplay: Bool
        var isEnding: Bool
        var cursor: UInt64
        var reported: UInt64
        /// The hash of the declaration that it knows; nil if that is not known.
        var declaration: String?
    }

    struct Wait: Codable, Equatable {
        var request: Data
        /// The last change that it was judged by.
        var cursor: UInt64
        var resync: ServerLine.Resync?
        var leftMs: UInt64?
    }

    /// A hold or a guard.
    struct Voter: Codable, Equatable {
        var number: UInt64
        var request: Data
        /// When it began; nil if the process did not say.
        var since: WallTime?
    }

    var version = Self.currentVersion
    var epoch: String
    /// The newest change that the process knew.
    var seq: UInt64
    /// No number up to this is given to a hold, a guard or a question again.
    var lastNumber: UInt64
    var connections: [Connection]
    /// The required guards, of use if no history keeps them; nil from a version without them.
    var kept: [KeptVoter]?

    /// As bytes.
    func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }

    /// From bytes that a process of this version made.
    init(decoding bytes: [UInt8]) throws {
        struct Versioned: Decodable { let version: Int }
        let data = Data(bytes)
        let version = try JSONDecoder().decode(Versioned.self, from: data).version
        guard version == Self.currentVersion else {
            throw DaemonError(
                "it has version \(version), but this daemon reads version \(Self.currentVersion)"
            )
        }
        self = try JSONDecoder().decode(Self.self, from: data)
        guard self.isPossible else {
            throw DaemonError("it has numbers that no daemon writes")
        }
    }

    init(
        epoch: Epoch,
        seq: UInt64,
        lastNumber: UInt64,
        connections: [Connection],
        kept: [KeptVoter]? = nil
    ) {
        self.kept = kept
        self.epoch = epoch.description
        self.seq = seq
        self.lastNumber = lastNumber
        self.connections = connections
    }
}

// How each part of a connection is recorded, and restored from its record.

extension Watch {
    /// Its record, with the declaration that the client knows.
    func record(knowing declaration: String?) -> HandOverRecord.Watch {
        HandOverRecord.Watch(
            request: self.isImplicit ? nil : Data(self.request),
            phase: self.phase,
            isToReplay: self.isToReplay,
            isEnding: self.isEnding,
            cursor: self.cursor,
            reported: self.reported,
            declaration: declaration
        )
    }

    /// Restores the watch where it was; nil if the record makes no sense.
    convenience init?(
        _ record: HandOverRecord.Watch,
        of schema: StateSchema,
        head: UInt64,
        declarations: Int
    ) {
        let asked = record.call(schema)
        guard record.cursor <= head, record.reported <= head,
            record.request == nil || asked != nil
        else { return nil }
        let (call, id) = asked ?? (WatchCall(), nil)
        self.init(
            call,
            id: id,
            from: record.isToReplay ? .replay(after: record.cursor) : nil,
            head: record.cursor,
            declarations: declarations,
            request: record.request.map { Array($0) } ?? [],
            isImplicit: record.request == nil
        )
        self.resume(in: record.phase, reported: record.reported, head: head)
        self.isEnding = record.isEnding
    }
}

extension HandOverRecord.Watch {
    /// The request for the watch; nil if it cannot be read.
    func call(_ schema: StateSchema) -> (WatchCall, RequestID?)? {
        guard let line = self.request, let request = Request(again: line),
            case .watch(let call) = schema.resolvedAgain(request.call)
        else { return nil }
        return (call, request.id)
    }
}

extension SocketVoter {
    var record: HandOverRecord.Voter {
        HandOverRecord.Voter(
            number: self.number,
            request: Data(self.request),
            since: self.since
        )
    }
}

extension Output.Segment {
    /// Its record; `place` gives a watch's position there.
    func record(place: (Watch) -> Int) -> HandOverRecord.Segment {
        let mark: HandOverRecord.Segment.Mark? =
            switch self.mark {
            case .start(let watch): .start(place(watch))
            case .end(let watch): .end(place(watch))
            case .history(let run): .history(run.record)
            case nil: nil
            }
        return HandOverRecord.Segment(
            bytes: Data(self.rest),
            replies: self.replies,
            mark: mark
        )
    }
}

extension Output.Mark {
    /// Restores the mark, nil if its record makes no sense; `watch` gives the watch at a position.
    init?(
        _ record: HandOverRecord.Segment.Mark,
        of schema: StateSchema,
        watch: (Int) -> Watch?
    ) {
        let mark: Self? =
            switch record {
            case .start(let place): watch(place).map { .start($0) }
            case .end(let place): watch(place).map { .end($0) }
            case .history(let history): HistoryRun(history, of: schema).map { .history($0) }
            }
        guard let mark else { return nil }
        self = mark
    }
}

extension HistoryRun {
    var record: HandOverRecord.History {
        HandOverRecord.History(
            request: Data(self.request),
            cursor: self.cursor,
            end: self.end,
            count: self.count,
            resync: self.resync
        )
    }

    /// Restores the answer where it was; nil if the record makes no sense.
    convenience init?(_ record: HandOverRecord.History, of schema: StateSchema) {
        guard let request = Request(again: record.request),
            case .history(let call) = schema.resolvedAgain(request.call),
            record.cursor <= record.end, record.count <= call.most
        else { return nil }
        self.init(
            call,
            id: request.id,
            after: record.cursor,
            through: record.end,
            resync: record.resync,
            request: Array(record.request)
        )
        self.sent(Int(record.count))
    }
}

extension Request {
    /// A request that was valid before; nil if it no longer is.
    init?(again line: some Sequence<UInt8>) {
        do {
            guard let request = try Request.parse(Array(line)) else { return nil }
            self = request
        } catch {
            return nil
        }
    }
}

// Whether what a record says is possible: anything may lie in the store under its name, and whoever
// resumes from it calculates with its numbers.

extension HandOverRecord {
    var isPossible: Bool {
        Epoch(self.epoch) != nil && [self.seq, self.lastNumber].allSatisfy(\.isPossible)
            && self.connections.allSatisfy(\.isPossible)
    }
}

extension HandOverRecord.Connection {
    fileprivate var isPossible: Bool {
        // All reply counts are added up.
        self.unsentReplies.isCount && self.outbox.allSatisfy { $0.isPossible(self.watches.count) }
            && self.history?.isPossible ?? true
            && self.watches.allSatisfy { $0.cursor.isPossible && $0.reported.isPossible }
            && self.waits.allSatisfy { $0.cursor.isPossible && $0.leftMs?.isPossible ?? true }
            && (self.holds + self.guards).allSatisfy(\.number.isPossible)
            && [self.resyncs, self.bytes].allSatisfy(\.isPossible)
            && self.program?.isPossible ?? true
    }
}

extension Program {
    /// Whether the kernel and systemd allow such names, which are on every line that it causes.
    fileprivate var isPossible: Bool {
        (self.comm?.utf8.count ?? 0) <= RunningProcess.nameBytes
            && (self.unit?.utf8.count ?? 0) <= ControlGroup.unitBytes
    }
}

extension HandOverRecord.Segment {
    fileprivate func isPossible(_ watches: Int) -> Bool {
        let isMarkPossible =
            switch self.mark {
            // The index past the last stands for a watch that was gone.
            case .start(let index), .end(let index): index >= 0 && index <= watches
            case .history(let history): history.isPossible
            case nil: true
            }
        return self.replies.isCount && isMarkPossible
    }
}

extension HandOverRecord.History {
    fileprivate var isPossible: Bool {
        [self.cursor, self.end, self.count].allSatisfy(\.isPossible)
    }
}

extension UInt64 {
    /// Whether it is one of the protocol's integers.
    fileprivate var isPossible: Bool { self < RequestLimits.integerBound }
}

extension Int {
    /// Whether there can be so many unsent replies.
    ///
    /// 2^32: more than fit into any memory; and the sum of as many as a record can name still fits
    /// into an integer.
    fileprivate var isCount: Bool { self >= 0 && self < 1 << 32 }
}

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
    static let currentVersion = 4

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
        /// What it has asked for that lives on; first its watches.
        var standing: [StandingRow] = []
        /// The program at its other end, which may have gone since; nil if the process did not say.
        var program: Program?
        var resyncs: UInt64 = 0
        var bytes: UInt64 = 0

        /// What stands of its watches, in the order in which ``Segment/Mark`` counts them.
        var watches: [WatchRow] {
            self.standing.compactMap { row in
                guard case .watch(let watch) = row else { return nil }
                return watch
            }
        }
    }

    struct Segment: Codable, Equatable {
        var bytes: Data
        var replies: Int
        var mark: Mark?

        /// What happens when the segment is written, to the watch at that place of what stands.
        enum Mark: Codable, Equatable {
            case start(Int)
            case end(Int)
            case history(HistoryRow)
        }
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
    /// The session by which this host holds something of a machine that hosts share; nil if there is none.
    var session: Session?

    /// A host's session with the engine.
    struct Session: Codable, Equatable {
        /// A number in decimal, which may be larger than any that JSON's readers keep.
        var lease: String
        /// In microseconds of uptime.
        var deadline: UInt64
        var instance: String

        init(_ session: SharedSession) {
            self.lease = "\(session.lease)"
            self.deadline = UInt64(max(0, session.deadline))
            self.instance = session.instance
        }
    }
}

extension SharedSession {
    /// The one that the last process has left, with the numbers of what its connections hold by it; nil if the record makes no sense.
    init?(_ record: HandOverRecord.Session, holding voters: Set<UInt64>) {
        guard let lease = Int64(record.lease), let deadline = Int64(exactly: record.deadline) else {
            return nil
        }
        self.init(
            lease: lease,
            deadline: deadline,
            instance: record.instance,
            voters: voters
        )
    }
}

extension HandOverRecord {
    /// As bytes.
    func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }

    /// From bytes that a process of this version made.
    ///
    /// It is read once, since it may have tens of megabytes and nobody is served meanwhile.
    init(decoding bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(OfThisVersion.self, from: Data(bytes)).record
        guard self.isPossible, bytes.haveOnlyIntegers else {
            throw DaemonError("it has numbers that no daemon writes")
        }
    }

    /// A record that is read no further if it is of another version.
    private struct OfThisVersion: Decodable {
        let record: HandOverRecord

        private enum CodingKeys: CodingKey { case version }

        init(from decoder: any Decoder) throws {
            let version = try decoder.container(keyedBy: CodingKeys.self)
                .decode(Int.self, forKey: .version)
            guard version == currentVersion else {
                throw DaemonError(
                    "it has version \(version), but this daemon reads version \(currentVersion)"
                )
            }
            self.record = try HandOverRecord(from: decoder)
        }
    }

    /// Whether it is what a daemon may have left.
    ///
    /// Anything may lie in the store under its name, and whoever resumes from it calculates with its numbers.
    private var isPossible: Bool {
        Epoch(self.epoch) != nil
            && self.connections.allSatisfy { connection in
                let replies = [connection.unsentReplies] + connection.outbox.map(\.replies)
                // More than fit into any memory; and the sum of as many as a record can name fits into an integer.
                return replies.allSatisfy { $0 < 1 << 32 } && connection.program?.isPossible ?? true
            }
    }
}

extension [UInt8] {
    /// Whether all numbers of a JSON text are integers of the protocol.
    fileprivate var haveOnlyIntegers: Bool {
        var index = self.startIndex
        while index < self.endIndex {
            switch self[index] {
            case UInt8(ascii: "\""):
                index += 1
                while index < self.endIndex, self[index] != UInt8(ascii: "\"") {
                    index += self[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                index += 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let number = self[index...].prefix {
                    $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "]") && $0 != UInt8(ascii: "}")
                }
                let value = UInt64(String(decoding: number, as: UTF8.self))
                guard let value, value < RequestLimits.integerBound else { return false }
                index = number.endIndex
            default: index += 1
            }
        }
        return true
    }
}

// How each part of a connection is recorded, and restored from its record.

extension Watch {
    /// Its record, with the declaration that the client knows.
    func row(knowing declaration: String?) -> WatchRow {
        WatchRow(
            line: Data(self.request),
            cursor: self.cursor.seq,
            reported: self.reported,
            phase: self.phase,
            isToReplay: self.isToReplay,
            isEnding: self.isEnding,
            declaration: declaration
        )
    }

    /// Restores the watch where it was; nil if the record makes no sense.
    convenience init?(_ row: WatchRow, of schema: Schema, head: UInt64, declarations: Int) {
        guard row.cursor <= head, row.reported <= head,
            let request = Request(standing: row.line, of: schema),
            case .watch(let call) = request.call
        else { return nil }
        self.init(
            call,
            id: request.id,
            after: row.cursor,
            isToReplay: row.isToReplay,
            declarations: declarations,
            request: Array(row.line),
            isToBeTold: true
        )
        self.resume(in: row.phase, reported: row.reported, head: head)
        self.isEnding = row.isEnding
    }
}

extension Output.Segment {
    /// Its record; `index` gives a watch's position there.
    func record(index: (Watch) -> Int) -> HandOverRecord.Segment {
        let mark: HandOverRecord.Segment.Mark? =
            switch self.mark {
            case .start(let watch): .start(index(watch))
            case .end(let watch): .end(index(watch))
            case .history(let run): .history(run.row)
            case nil: nil
            }
        return HandOverRecord.Segment(bytes: Data(self.rest), replies: self.replies, mark: mark)
    }
}

extension Output.Mark {
    /// Restores the mark, nil if its record makes no sense; `watch` gives the watch at a position.
    init?(_ record: HandOverRecord.Segment.Mark, of schema: Schema, watch: (Int) -> Watch?) {
        let mark: Self? =
            switch record {
            case .start(let index): watch(index).map { .start($0) }
            case .end(let index): watch(index).map { .end($0) }
            case .history(let history): HistoryRun(history, of: schema).map { .history($0) }
            }
        guard let mark else { return nil }
        self = mark
    }
}

extension HistoryRun {
    var row: HistoryRow {
        HistoryRow(
            line: Data(self.request),
            cursor: self.cursor.seq,
            end: self.cursor.end,
            count: self.count,
            resync: self.resync
        )
    }

    /// Restores the answer where it was; nil if the record makes no sense.
    convenience init?(_ row: HistoryRow, of schema: Schema) {
        guard let request = Request(standing: row.line, of: schema),
            case .history(let call) = request.call,
            row.cursor <= row.end,
            row.count <= call.most
        else { return nil }
        self.init(
            call,
            id: request.id,
            after: row.cursor,
            through: row.end,
            resync: row.resync,
            request: Array(row.line)
        )
        self.sent(Int(row.count))
    }
}

extension Request {
    /// The request of a line that stands, as the states are declared now; nil if it cannot be read.
    init?(standing line: Data, of schema: Schema) {
        if line.isEmpty {
            self.init(.watch(WatchCall()))
        } else if let request = Request(again: line) {
            self.init(id: request.id, schema.resolvedAgain(request.call))
        } else {
            return nil
        }
    }
}

extension Program {
    /// Whether the kernel and systemd allow such names, which are on every line that it causes.
    fileprivate var isPossible: Bool {
        (self.comm?.utf8.count ?? 0) <= RunningProcess.nameBytes
            && (self.unit?.utf8.count ?? 0) <= ControlGroup.unitBytes
    }
}

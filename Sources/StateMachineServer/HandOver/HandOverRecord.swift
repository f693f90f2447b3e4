import FoundationEssentials
import StateMachineCore
import StateMachineProtocol

/// What a process tells the next about the connections that it leaves with the service manager.
///
/// Mostly the same build reads it, after an upgrade another: a record of another version is not
/// read, and its clients connect anew.
struct HandOverRecord: Codable, Equatable {
    /// Raised whenever the format changes.
    static let currentVersion = 1

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
        /// Whether all changes up to the record's seq have been evaluated.
        var isJudged: Bool
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
            throw DaemonError("it is of version \(version), and known is \(Self.currentVersion)")
        }
        self = try JSONDecoder().decode(Self.self, from: data)
        guard self.isPossible else {
            throw DaemonError("it has numbers in it that no daemon writes")
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

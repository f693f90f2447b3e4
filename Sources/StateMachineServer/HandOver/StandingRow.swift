import FoundationEssentials
import StateMachineCore
import StateMachineProtocol

/// A request that lives on, as it is left to the next process: the line that asked for it, and what it has come to.
enum StandingRow: Equatable {
    case watch(WatchRow)
    case wait(WaitRow)
    case voter(VoterRow)
}

/// A watch that lives on.
struct WatchRow: Equatable {
    /// Empty for the watch of the events door.
    var line: Data
    /// The last change that it was sent, or that did not concern it.
    var cursor: UInt64
    /// The seq of the last line that it was sent.
    var reported: UInt64
    var phase: Watch.Phase
    /// Whether it is to begin with earlier changes.
    var isToReplay = false
    var isEnding = false
    /// The hash of the declaration that it knows; nil if that is not known.
    var declaration: String?
}

/// A wait that has not been answered.
struct WaitRow: Equatable {
    var line: Data
    /// The last change that it was judged by.
    var cursor: UInt64
    var resync: ServerLine.Resync?
    /// The time that it has left; nil: all of it, or none.
    var leftMs: UInt64?
}

/// An answer to `history` that is under way.
struct HistoryRow: Equatable {
    var line: Data
    /// The last change that was examined for it.
    var cursor: UInt64
    /// Where it ends, and how many changes it has shown.
    var end: UInt64
    var count: UInt64
    var resync: ServerLine.Resync?
}

/// A hold or a guard.
struct VoterRow: Equatable {
    var line: Data
    var number: UInt64
    /// When it began.
    var since: WallTime?
}

/// A row as version 4 of the record has it: what is not optional is there for every kind, and read for every kind.
private struct WrittenRow: Codable {
    enum Kind: String, Codable { case watch, wait, history, voter }

    var kind: Kind
    var line: Data
    var number: UInt64 = 0
    var since: WallTime?
    var cursor: UInt64 = 0
    var reported: UInt64 = 0
    var end: UInt64 = 0
    var count: UInt64 = 0
    var phase = Watch.Phase.queued
    var isToReplay = false
    var isEnding = false
    var declaration: String?
    var resync: ServerLine.Resync?
    var leftMs: UInt64?
}

extension StandingRow: Codable {
    init(from decoder: any Decoder) throws {
        let row = try WrittenRow(from: decoder)
        switch row.kind {
        case .watch:
            self = .watch(
                WatchRow(
                    line: row.line,
                    cursor: row.cursor,
                    reported: row.reported,
                    phase: row.phase,
                    isToReplay: row.isToReplay,
                    isEnding: row.isEnding,
                    declaration: row.declaration
                )
            )
        case .wait:
            self = .wait(
                WaitRow(
                    line: row.line,
                    cursor: row.cursor,
                    resync: row.resync,
                    leftMs: row.leftMs
                )
            )
        case .voter:
            self = .voter(VoterRow(line: row.line, number: row.number, since: row.since))
        case .history:
            throw DaemonError("it has an answer to history among what stands")
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .watch(let row):
            try WrittenRow(
                kind: .watch,
                line: row.line,
                cursor: row.cursor,
                reported: row.reported,
                phase: row.phase,
                isToReplay: row.isToReplay,
                isEnding: row.isEnding,
                declaration: row.declaration
            ).encode(to: encoder)
        case .wait(let row):
            try WrittenRow(
                kind: .wait,
                line: row.line,
                cursor: row.cursor,
                resync: row.resync,
                leftMs: row.leftMs
            ).encode(to: encoder)
        case .voter(let row):
            try WrittenRow(kind: .voter, line: row.line, number: row.number, since: row.since)
                .encode(to: encoder)
        }
    }
}

extension HistoryRow: Codable {
    init(from decoder: any Decoder) throws {
        let row = try WrittenRow(from: decoder)
        guard row.kind == .history else { throw DaemonError("it has no answer where one is due") }
        self.init(
            line: row.line,
            cursor: row.cursor,
            end: row.end,
            count: row.count,
            resync: row.resync
        )
    }

    func encode(to encoder: any Encoder) throws {
        try WrittenRow(
            kind: .history,
            line: self.line,
            cursor: self.cursor,
            end: self.end,
            count: self.count,
            resync: self.resync
        ).encode(to: encoder)
    }
}

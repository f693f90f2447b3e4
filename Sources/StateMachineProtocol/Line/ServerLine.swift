package import StateMachineCore

/// The lines that a server sends.
///
/// The order of their keys is part of the protocol and defined here.
package enum ServerLine {
    /// Why a reader gets the state instead of the changes that it requested.
    package enum Resync: String, Codable, Sendable {
        /// Its cursor belongs to another numbering.
        case restarted
        /// Its cursor is older than what is kept.
        case evicted
        /// Its cursor was never issued, or is beyond the end.
        case unknown
        /// It fell behind what is kept.
        case lagged
    }

    /// Why a connection is closed.
    package enum ByeReason: String, Sendable {
        case restart
        case shutdown
        case limit
        case tooLong = "too-long"
        /// The daemon does not start; `message` says why.
        case refused
        /// The host no longer counts on its session with the engine, nor on what the connection held.
        case session
    }

    /// A reply of success; `own` writes the keys that only this reply has, `rest` those at the end.
    package static func reply(
        id: RequestID?,
        report: Report? = nil,
        own: (inout LineWriter) -> Void = { _ in },
        rest: (inout LineWriter) -> Void = { _ in }
    ) -> [UInt8] {
        LineWriter.bytes { self.writeReply(to: &$0, id: id, report, own: own, rest: rest) }
    }

    /// The same, into `writer`, whose former content is discarded.
    package static func writeReply(
        to writer: inout LineWriter,
        id: RequestID?,
        _ report: Report?,
        own: (inout LineWriter) -> Void = { _ in },
        rest: (inout LineWriter) -> Void = { _ in }
    ) {
        writer.line("reply", id: id) { writer in
            writer.bool(.ok, true)
            own(&writer)
            if let report { writer.report(report) }
            rest(&writer)
        }
    }

    /// A refusal.
    package static func refusal(
        id: RequestID?,
        _ error: WireError,
        report: Report? = nil,
        own: (inout LineWriter) -> Void = { _ in },
        rest: (inout LineWriter) -> Void = { _ in }
    ) -> [UInt8] {
        self.line("reply", id: id) { writer in
            writer.bool(.ok, false)
            writer.string(.error, error.code.rawValue)
            if let offset = error.offset { writer.number(.offset, offset) }
            writer.string(.message, error.message)
            if !error.known.isEmpty {
                writer.json(.known, .array(error.known))
            }
            if let may = error.may { writer.json(.may, .array(may.map { .string($0) })) }
            own(&writer)
            if let report { writer.report(report) }
            rest(&writer)
        }
    }

    private static func line(
        _ type: StaticString,
        id: RequestID?,
        members: (inout LineWriter) -> Void
    ) -> [UInt8] {
        LineWriter.bytes { $0.line(type, id: id, members: members) }
    }

    /// The current state, at the beginning of a watch or instead of changes that are not available;
    /// `isSelected`: whether the watch is for that state.
    package static func state(
        id: RequestID?,
        _ report: Report,
        resync: Resync? = nil,
        missed: UInt64? = nil,
        isSelected: Bool = true
    ) -> [UInt8] {
        self.line("state", id: id) { writer in
            writer.report(report)
            if let resync { writer.string(.resync, resync.rawValue) }
            if let missed { writer.number(.missed, missed) }
            writer.selected(isSelected)
        }
    }

    /// The end of a replay: from here on changes come live.
    package static func live(id: RequestID?, _ report: Report, isSelected: Bool = true) -> [UInt8] {
        Self.mark("live", id: id, report, isSelected: isSelected)
    }

    /// A sign of life of a watch that has nothing else to send.
    ///
    /// Its cursor is where the watch has got to, the report's seq if `seq` is nil; if lines are
    /// held back, that is behind the state shown.
    package static func beat(
        id: RequestID?,
        _ report: Report,
        resumingAt seq: UInt64? = nil,
        isSelected: Bool = true
    ) -> [UInt8] {
        Self.mark("beat", id: id, report, resumingAt: seq, isSelected: isSelected)
    }

    /// Whether what is shown is what all hosts of a shared machine have, from here on.
    ///
    /// - Parameters:
    ///   - id: the watch's id.
    ///   - trouble: why it may be old, or the machine cannot be changed; nil: it is what all have.
    ///   - report: where the machine is here; nil if that is not known.
    ///   - seq: where the watch has got to, of which the line has the cursor; nil: the report's.
    /// - Returns: the line.
    package static func shared(
        id: RequestID?,
        _ trouble: SharingTrouble?,
        _ report: Report?,
        resumingAt seq: UInt64? = nil
    ) -> [UInt8] {
        self.line("shared", id: id) { writer in
            writer.bool("up", trouble == nil)
            if let trouble { writer.string(.reason, trouble.rawValue) }
            guard let report else { return }
            writer.stale(report)
            writer.position(of: report)
            writer.cursor(.cursor, Cursor(epoch: report.epoch, seq: seq ?? report.seq))
        }
    }

    /// From the watch's cursor on, another file declares the states.
    ///
    /// - Parameters:
    ///   - id: the watch's id.
    ///   - seq: the first change whose state it declares.
    ///   - hash: the file's hash.
    ///   - version: the file's version.
    ///   - cursor: where the watch has got to.
    /// - Returns: the line.
    package static func declared(
        id: RequestID?,
        seq: UInt64,
        hash: String,
        version: String?,
        cursor: Cursor
    ) -> [UInt8] {
        self.line("declared", id: id) { writer in
            writer.number(.seq, seq)
            writer.string(.declaration, hash)
            if let version { writer.string(.version, version) }
            writer.cursor(.cursor, cursor)
        }
    }

    /// How far a search has come that has found nothing for a while.
    package static func progress(id: RequestID?, examined: UInt64, of whole: UInt64) -> [UInt8] {
        self.line("progress", id: id) { writer in
            writer.number(.examined, examined)
            writer.number(.of, whole)
        }
    }

    private static func mark(
        _ type: StaticString,
        id: RequestID?,
        _ report: Report,
        resumingAt seq: UInt64? = nil,
        isSelected: Bool
    ) -> [UInt8] {
        self.line(type, id: id) { writer in
            writer.position(of: report)
            writer.cursor(.cursor, Cursor(epoch: report.epoch, seq: seq ?? report.seq))
            if let due = report.due { writer.due(due) }
            writer.stale(report)
            writer.selected(isSelected)
        }
    }

    /// A question to a guard.
    ///
    /// - Parameters:
    ///   - id: the guard's id.
    ///   - number: the number that the vote has to give.
    ///   - report: where the machine is.
    ///   - to: the fragment of the state that would be entered.
    ///   - by: who proposed it; nil for the process itself.
    ///   - host: where, of a machine that several hosts share.
    ///   - cause: why.
    ///   - leftMs: how much time there is to answer.
    /// - Returns: the line.
    package static func ask(
        id: RequestID?,
        number: UInt64,
        _ report: Report,
        to: [UInt8],
        by: Peer?,
        at host: String?,
        cause: String?,
        leftMs: UInt64
    ) -> [UInt8] {
        self.line("ask", id: id) { writer in
            writer.number(.ask, number)
            writer.position(of: report)
            writer.object(.to, to)
            if let by { writer.peer(.by, by, at: host) }
            if let cause { writer.string(.cause, cause) }
            writer.number(.leftMs, leftMs)
        }
    }

    /// The last line of a connection that the server closes; `own` writes what belongs to the reason.
    package static func bye(
        _ reason: ByeReason,
        own: (inout LineWriter) -> Void = { _ in }
    ) -> [UInt8] {
        self.line("bye", id: nil) { writer in
            writer.string(.reason, reason.rawValue)
            own(&writer)
        }
    }
}

extension LineWriter {
    /// Written only if false.
    fileprivate mutating func selected(_ isSelected: Bool) {
        if !isSelected { self.bool(.selected, false) }
    }
}

extension ServerLine {
    /// An outline of consecutive changes, at least one.
    package static func outline(
        id: RequestID?,
        _ outline: TransitionOutline,
        in epoch: Epoch
    ) -> [UInt8] {
        let begin = outline.entries.first?.at ?? WallTime(microseconds: 0)
        return self.line("outline", id: id) { writer in
            writer.number(.seq, outline.first)
            writer.time(.at, begin)
            writer.json("states", .array(outline.names.map { .string($0) }))
            writer.key("changes")
            writer.text("[")
            var last = begin
            for (index, entry) in outline.entries.enumerated() {
                if index > 0 { writer.text(",") }
                writer.decimal(entry.state ?? -1)
                writer.text(",")
                writer.decimal(entry.at.microseconds - last.microseconds)
                last = entry.at
            }
            writer.text("]")
            writer.cursor(.cursor, Cursor(epoch: epoch, seq: outline.examined))
        }
    }
}

package import StateMachineCore

/// The lines that a server sends.
///
/// The order of their keys is part of the protocol and stands here.
package enum ServerLine {
    /// A state, where it stands in the order, and since when.
    package struct Report: Sendable {
        package let seq: UInt64
        /// What ``StateCoding/fragment(of:)`` makes of the state.
        package let fragment: [UInt8]
        package let at: WallTime
        package let epoch: Epoch
        /// Nil of a machine that has no stays.
        package let stay: Stay?

        package init(
            seq: UInt64,
            fragment: [UInt8],
            at: WallTime,
            epoch: Epoch,
            stay: Stay? = nil
        ) {
            self.seq = seq
            self.fragment = fragment
            self.at = at
            self.epoch = epoch
            self.stay = stay
        }

        /// The same with the milliseconds that are left until what is due; nil if nothing is.
        package func counting(_ leftMs: Int64?) -> Report {
            guard let stay = self.stay, let due = stay.due, let leftMs else { return self }
            return Report(
                seq: self.seq,
                fragment: self.fragment,
                at: self.at,
                epoch: self.epoch,
                stay: Stay(seq: stay.seq, due: due.counting(leftMs))
            )
        }
    }

    /// How long a state has been the machine's, and what time will do to it.
    package struct Stay: Sendable {
        /// The seq that began it.
        package let seq: UInt64
        /// What time will do; nil if nothing.
        package let due: Due?

        package init(seq: UInt64, due: Due?) {
            self.seq = seq
            self.due = due
        }
    }

    /// What time will do: the state that will be entered, and when.
    ///
    /// A reference, so that what has none carries little.
    package final class Due: Sendable {
        /// The state's members; of what was written down, all there are.
        private let fragment: [UInt8]
        /// Nil if that is among the members.
        private let at: WallTime?
        private let leftMs: Int64?

        private init(_ fragment: [UInt8], at: WallTime?, leftMs: Int64? = nil) {
            self.fragment = fragment
            self.at = at
            self.leftMs = leftMs
        }

        /// - Parameters:
        ///   - fragment: what ``StateCoding/fragment(of:)`` makes of the state.
        ///   - at: when.
        package convenience init(fragment: [UInt8], at: WallTime) { self.init(fragment, at: at) }

        /// As it was written down; nil if that is no object.
        package convenience init?(recorded text: String) {
            guard text.utf8.first == UInt8(ascii: "{"), text.utf8.last == UInt8(ascii: "}") else {
                return nil
            }
            self.init(Array(text.utf8.dropFirst().dropLast()), at: nil)
        }

        /// The object, to be written down; `writer` forgets what it had.
        package func text(by writer: inout LineWriter) -> String {
            writer.clear()
            self.write(to: &writer)
            return writer.withBytes { String(decoding: $0, as: UTF8.self) }
        }

        /// The same with what is left until then.
        fileprivate func counting(_ leftMs: Int64) -> Due {
            Due(self.fragment, at: self.at, leftMs: leftMs)
        }

        /// The object.
        fileprivate func write(to writer: inout LineWriter) {
            writer.text("{")
            writer.raw(self.fragment)
            if let at { writer.time(.at, at) }
            if let leftMs { writer.number(.leftMs, leftMs) }
            writer.text("}")
        }
    }

    /// Why a reader is given the state instead of the changes that it asked for.
    package enum Resync: String, Codable, Sendable {
        /// Its cursor belongs to another numbering.
        case restarted
        /// Its cursor is older than what is kept.
        case evicted
        /// Its cursor was never one, or is beyond our end.
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
    }

    /// A reply that says yes; `own` writes the keys that only this reply has, `rest` those at the end.
    package static func reply(
        id: RequestID?,
        report: Report? = nil,
        own: (inout LineWriter) -> Void = { _ in },
        rest: (inout LineWriter) -> Void = { _ in }
    ) -> [UInt8] {
        self.line("reply", id: id) { writer in
            writer.bool(.ok, true)
            own(&writer)
            if let report { writer.report(report) }
            rest(&writer)
        }
    }

    /// A reply that says how the machine is, into `writer`, which forgets what it had; `own` and `rest` as in
    /// ``reply(id:report:own:rest:)``.
    package static func writeReply(
        to writer: inout LineWriter,
        id: RequestID?,
        report: Report,
        own: (inout LineWriter) -> Void = { _ in },
        rest: (inout LineWriter) -> Void = { _ in }
    ) {
        writer.line("reply", id: id) { writer in
            writer.bool(.ok, true)
            own(&writer)
            writer.report(report)
            rest(&writer)
        }
    }

    /// A reply that says no.
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
        var writer = LineWriter()
        writer.line(type, id: id, members: members)
        return writer.bytes
    }

    /// The current state, as the beginning of a watch or instead of changes that are not to be had;
    /// `isSelected`: whether it is one of those that the watch is for.
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

    /// The end of a replay: from here on changes come as they happen.
    package static func live(
        id: RequestID?,
        _ report: Report,
        isSelected: Bool = true
    ) -> [UInt8] {
        Self.mark("live", id: id, report, isSelected: isSelected)
    }

    /// A sign of life of a watch that has nothing else to say.
    ///
    /// Its cursor is where the watch has come to, `seq` if nil; behind the state that it shows if lines
    /// are held back.
    package static func beat(
        id: RequestID?,
        _ report: Report,
        resumingAt seq: UInt64? = nil,
        isSelected: Bool = true
    ) -> [UInt8] {
        Self.mark("beat", id: id, report, resumingAt: seq, isSelected: isSelected)
    }

    /// The states after the watch's cursor are declared by another file.
    ///
    /// - Parameters:
    ///   - id: the watch's.
    ///   - seq: the first change whose state that declares.
    ///   - hash: the file's.
    ///   - version: what the file calls its version.
    ///   - cursor: where the watch has come to.
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

    private static func mark(
        _ type: StaticString,
        id: RequestID?,
        _ report: Report,
        resumingAt seq: UInt64? = nil,
        isSelected: Bool
    ) -> [UInt8] {
        self.line(type, id: id) { writer in
            writer.place(of: report)
            writer.cursor(.cursor, Cursor(epoch: report.epoch, seq: seq ?? report.seq))
            if let due = report.stay?.due { writer.due(due) }
            writer.selected(isSelected)
        }
    }

    /// A question to a guard.
    ///
    /// - Parameters:
    ///   - id: the guard's.
    ///   - number: what the vote has to name.
    ///   - report: where the machine is.
    ///   - to: the fragment of the state that would be entered.
    ///   - by: who proposed it; nil for the process itself.
    ///   - cause: why.
    ///   - leftMs: how long there is to answer.
    /// - Returns: the line.
    package static func ask(
        id: RequestID?,
        number: UInt64,
        _ report: Report,
        to: [UInt8],
        by: Peer?,
        cause: String?,
        leftMs: UInt64
    ) -> [UInt8] {
        self.line("ask", id: id) { writer in
            writer.number(.ask, number)
            writer.place(of: report)
            writer.object(.to, to)
            if let by { writer.peer(.by, by) }
            if let cause { writer.string(.cause, cause) }
            writer.number(.leftMs, leftMs)
        }
    }

    /// One transition, for a watch without id; see ``ChangeLine`` for the others.
    ///
    /// - Parameters:
    ///   - report: the state that was entered.
    ///   - old: the fragment of the one that was left.
    ///   - by: who made it; nil for the process itself.
    ///   - cause: why.
    /// - Returns: the line with its newline, to be shared by all watches.
    package static func change(
        _ report: Report,
        from old: [UInt8],
        by: Peer?,
        cause: String?
    ) -> [UInt8] {
        var writer = LineWriter()
        self.writeChange(to: &writer, report, from: old, by: by, cause: cause)
        return writer.bytes
    }

    /// The same, into `writer`, which forgets what it had.
    package static func writeChange(
        to writer: inout LineWriter,
        _ report: Report,
        from old: [UInt8],
        by: Peer?,
        cause: String?
    ) {
        writer.line("change", id: nil) { writer in
            writer.place(of: report)
            writer.object(.from, old)
            writer.time(.at, report.at)
            if let by { writer.peer(.by, by) }
            if let cause { writer.string(.cause, cause) }
            if let stay = report.stay {
                if stay.seq != report.seq { writer.number(.stay, stay.seq) }
                if let due = stay.due { writer.due(due) }
            }
            writer.cursor(.cursor, Cursor(epoch: report.epoch, seq: report.seq))
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

/// How a change line that was encoded once becomes the line of any watch: all of them share the part
/// from `"seq"` to the closing brace, and differ before and after it.
package enum ChangeLine {
    /// What the shared line begins with.
    package static let head: [UInt8] = Array(#"{"type":"change""#.utf8)

    /// What the shared line ends with.
    package static let tail: StaticString = "}\n"

    /// What a replayed line ends with instead.
    package static let replayTail: StaticString = ",\"replay\":true}\n"

    /// What a line ends with that stands for others too: `skipped` counts those left out.
    package static func tail(skipped: UInt64, isReplayed: Bool) -> [UInt8] {
        var writer = LineWriter()
        if skipped > 0 { writer.number(.skipped, skipped) }
        if isReplayed { writer.bool(.replay, true) }
        writer.text(self.tail)
        return writer.bytes
    }

    /// What the line of a watch with that id begins with instead of ``head``.
    package static func head(id: RequestID) -> [UInt8] {
        var writer = LineWriter()
        writer.begin("change", id: id)
        return writer.bytes
    }
}

extension LineWriter {
    /// `seq`, `state`, `data`, `at` and `cursor`.
    mutating func report(_ report: ServerLine.Report) {
        self.place(of: report)
        self.time(.at, report.at)
        self.cursor(.cursor, Cursor(epoch: report.epoch, seq: report.seq))
        guard let stay = report.stay else { return }
        self.place(.stay, stay.seq)
        if let due = stay.due { self.due(due) }
    }

    /// What time will do, and when.
    fileprivate mutating func due(_ due: ServerLine.Due) {
        self.key(.due)
        due.write(to: &self)
    }

    /// Said only where it is not so.
    fileprivate mutating func selected(_ isSelected: Bool) {
        if !isSelected { self.bool(.selected, false) }
    }

    /// `seq`, `state` and `data`.
    mutating func place(of report: ServerLine.Report) {
        self.place(.seq, report.seq)
        self.text(",")
        self.raw(report.fragment)
    }
}

package import StateMachineCore

/// How a change line that was encoded once becomes the line of any watch: all of them share the part
/// from `"seq"` to the closing brace, and differ before and after it.
package enum ChangeLine {
    /// The beginning of the shared line.
    package static let head: [UInt8] = Array(#"{"type":"change""#.utf8)

    /// The end of the shared line.
    package static let tail: StaticString = "}\n"

    /// The end of a replayed line instead.
    package static let replayTail: StaticString = ",\"replay\":true}\n"

    /// The end of a line that stands for others too: `skipped` counts those left out.
    package static func tail(skipped: UInt64, isReplayed: Bool) -> [UInt8] {
        LineWriter.bytes { writer in
            if skipped > 0 { writer.number(.skipped, skipped) }
            if isReplayed { writer.bool(.replay, true) }
            writer.text(self.tail)
        }
    }

    /// The beginning of the line for a watch with that id, instead of ``head``.
    package static func head(id: RequestID?) -> [UInt8] {
        LineWriter.bytes { $0.begin("change", id: id) }
    }
}

extension ServerLine {
    /// One transition, for a watch without id; ``ChangeLine`` turns it into the lines of other
    /// watches.
    ///
    /// - Parameters:
    ///   - report: the state that was entered.
    ///   - old: the fragment of the state that was left.
    ///   - by: who made the change; nil for the process itself.
    ///   - cause: why.
    /// - Returns: the line with its newline, to be shared by all watches.
    package static func change(
        _ report: Report,
        from old: [UInt8],
        by: Peer?,
        cause: String?
    ) -> [UInt8] {
        LineWriter.bytes { self.writeChange(to: &$0, report, from: old, by: by, cause: cause) }
    }

    /// The same, into `writer`, whose former content is discarded.
    package static func writeChange(
        to writer: inout LineWriter,
        _ report: Report,
        from old: [UInt8],
        by: Peer?,
        cause: String?
    ) {
        writer.line("change", id: nil) { writer in
            writer.position(of: report)
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
}

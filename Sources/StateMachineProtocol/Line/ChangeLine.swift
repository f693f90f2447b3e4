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
        id == nil ? self.head : LineWriter.bytes { $0.begin("change", id: id) }
    }
}

extension ServerLine {
    /// One transition, for a watch without id; ``ChangeLine`` turns it into the lines of other
    /// watches.
    ///
    /// - Parameters:
    ///   - report: the state that was entered.
    ///   - old: the fragment of the state that was left.
    ///   - origin: who made the change, and why; nil for the process itself, without a word.
    /// - Returns: the line with its newline, to be shared by all watches.
    package static func change(
        _ report: Report,
        from old: [UInt8],
        _ origin: Origin?
    ) -> [UInt8] {
        LineWriter.bytes { writer in
            self.writeChange(
                to: &writer,
                report.seq,
                from: old,
                to: report.fragment,
                report.at,
                origin,
                report.epoch,
                stay: report.stay,
                due: report.due
            )
        }
    }

    /// The same of a change as it was made, into `writer`, whose former content is discarded.
    package static func writeChange(
        to writer: inout LineWriter,
        _ change: Change,
        from old: Encoded,
        to new: Encoded,
        by schema: Schema,
        in epoch: Epoch,
        due: Due?
    ) {
        self.writeChange(
            to: &writer,
            change.seq,
            from: old.fragment,
            to: new.fragment,
            change.at,
            change.origin,
            epoch,
            stay: schema.hasStays ? change.stay : nil,
            due: due
        )
    }

    private static func writeChange(
        to writer: inout LineWriter,
        _ seq: UInt64,
        from old: [UInt8],
        to new: [UInt8],
        _ at: WallTime,
        _ origin: Origin?,
        _ epoch: Epoch,
        stay: UInt64?,
        due: Due?
    ) {
        writer.line("change", id: nil) { writer in
            writer.position(seq, new)
            writer.object(.from, old)
            writer.time(.at, at)
            if let origin { writer.origin(origin) }
            if let stay, stay != seq { writer.number(.stay, stay) }
            if let due { writer.due(due) }
            writer.cursor(.cursor, Cursor(epoch: epoch, seq: seq))
        }
    }

    /// The reply to a request that made the change, into `writer`, whose former content is discarded.
    package static func writeReply(
        to writer: inout LineWriter,
        id: RequestID?,
        _ change: Change,
        isHandled: Bool?,
        by schema: Schema,
        in epoch: Epoch,
        due: Due?
    ) {
        let stay = schema.hasStays ? change.stay : nil
        schema.withEncoded(change) { _, new in
            writer.line("reply", id: id) { writer in
                writer.begin(changed: true, isHandled)
                writer.report(change.seq, new.fragment, change.at, epoch, stay, due)
            }
        }
    }

    /// The reply to a request that changed nothing, into `writer`, whose former content is discarded.
    package static func writeReply(
        to writer: inout LineWriter,
        id: RequestID?,
        unchanged report: Report,
        isHandled: Bool?
    ) {
        writer.line("reply", id: id) { writer in
            writer.begin(changed: false, isHandled)
            writer.report(report)
        }
    }
}

extension LineWriter {
    /// What became of a request of a change.
    fileprivate mutating func begin(changed isChanged: Bool, _ isHandled: Bool?) {
        self.bool(.ok, true)
        self.bool(.changed, isChanged)
        if let isHandled { self.bool(.handled, isHandled) }
    }
}

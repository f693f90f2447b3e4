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

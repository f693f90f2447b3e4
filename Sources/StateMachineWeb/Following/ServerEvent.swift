import StateMachineProtocol

/// An event of a stream, as the HTML standard writes it (9.2.6, "Interpreting an event stream").
struct ServerEvent: Sendable {
    /// What happened; a browser listens to each by its name.
    enum Kind: String {
        /// The state as it is now.
        case state
        /// A transition.
        case change
        /// The daemon cannot be reached.
        case gone
        /// The daemon can be reached again; what it has to tell follows.
        case back
        /// Another file declares the states from here on.
        case declared
    }

    /// The beginning of a stream: after how many milliseconds to reconnect when it has ended.
    ///
    /// 500 ms: a restart of the service takes less.
    static let beginning = Array("retry: 500\n\n".utf8)

    /// Shows that a stream without news is there.
    ///
    /// An event and not a comment, since a browser keeps comments from the page.
    static let beat = Array("event: beat\ndata: {}\n\n".utf8)

    static let back = Self(kind: .back, data: "{}")

    let kind: Kind
    /// The place to continue from after it; nil leaves the place as it was.
    var cursor: Cursor?
    /// A JSON object on one line.
    let data: String

    /// In the stream of one machine, with the cursor as its id.
    var bytes: [UInt8] { self.bytes(id: self.cursor?.description, members: self.data.utf8[...]) }

    /// In a stream of several machines: `data` begins with the machine's name.
    func bytes(id: String?, instance: JSONValue) -> [UInt8] {
        let rest = self.data.utf8.dropFirst()
        let name = "{\"instance\":\(instance)\(rest.count > 1 ? "," : "")"
        return self.bytes(id: id, name, members: rest)
    }

    private func bytes(
        id: String?,
        _ beginning: String = "",
        members: Substring.UTF8View.SubSequence
    ) -> [UInt8] {
        let id = id.map { "id: \($0)\n" } ?? ""
        let head = "\(id)event: \(self.kind.rawValue)\ndata: \(beginning)"
        return Array(head.utf8) + members + [0x0a, 0x0a]
    }
}

/// An event of a stream, as the HTML standard writes it (9.2.6, "Interpreting an event stream").
struct ServerEvent {
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

    /// Keeps a connection from looking idle; a browser ignores it.
    static let beat = Array(": \n\n".utf8)

    let kind: Kind
    /// The place to go on from after it; nil leaves the place as it was.
    var cursor: String?
    /// JSON on one line.
    let data: String

    var bytes: [UInt8] {
        let id = self.cursor.map { "id: \($0)\n" } ?? ""
        return Array("\(id)event: \(self.kind.rawValue)\ndata: \(self.data)\n\n".utf8)
    }
}

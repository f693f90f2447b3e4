public import StateMachineProtocol

/// One thing to ask the daemon for.
///
/// What it holds is judged by the daemon alone, which answers with what would have been right.
public struct Request: Hashable, Sendable {
    /// The operation's name.
    public let operation: String
    private var members: [JSONMember] = []

    /// A request for that operation, for ones that have no function here.
    public init(_ operation: String, _ members: [JSONMember] = []) {
        self.operation = operation
        for member in members { self.add(member.key, member.value) }
    }

    mutating func add(_ key: String, _ value: JSONValue?) {
        guard let value else { return }
        self.members.append(JSONMember(key, value))
    }

    mutating func add(_ key: String, _ patterns: [JSONValue]) {
        guard !patterns.isEmpty else { return }
        self.add(key, .array(patterns))
    }

    /// The same request, whose lines will carry `id`: a string or an integer.
    public func called(_ id: JSONValue) -> Request {
        var request = self
        request.add("id", id)
        return request
    }

    /// The request as a line, with its newline.
    public var line: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(json: .object([JSONMember("op", .string(self.operation))] + self.members))
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }
}

extension Request {
    /// Asks for the current state.
    public static let get = Request("get")
    /// Ends the watch that has no id.
    public static let unwatch = Request("unwatch")
    /// Asks for the states, operations and limits.
    public static let describe = Request("describe")
    /// Asks for the counters and the connections.
    public static let stats = Request("stats")
    /// Asks for a sign of life.
    public static let ping = Request("ping")
    /// Asks for a short text for people.
    public static let help = Request("help")

    /// Asks for a state to be entered.
    ///
    /// - Parameters:
    ///   - state: the case's name.
    ///   - data: the associated values; nil leaves the key out.
    ///   - ifSeq: only if the machine is at this seq.
    ///   - ifState: only if the current state matches this pattern.
    ///   - reenter: whether the identical state makes a transition too.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func set(
        _ state: String,
        data: [JSONMember]? = nil,
        ifSeq: UInt64? = nil,
        ifState: JSONValue? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) -> Request {
        var request = Request("set")
        request.add("state", .string(state))
        request.add("data", data.map { .object($0) })
        request.add("ifSeq", ifSeq.map { .integer($0) })
        request.add("ifState", ifState)
        request.add("reenter", reenter ? true : nil)
        request.add("cause", cause.map { .string($0) })
        return request
    }

    /// Asks for an answer once a state is reached.
    ///
    /// - Parameters:
    ///   - until: patterns of the states to wait for.
    ///   - fail: patterns of the states that end the wait badly; they win.
    ///   - since: changes after this cursor are judged too.
    ///   - timeout: rounded up to milliseconds; nil means for ever.
    /// - Returns: the request.
    public static func wait(
        until: [JSONValue],
        fail: [JSONValue] = [],
        since: String? = nil,
        timeout: Duration? = nil
    ) -> Request {
        var request = Request("wait")
        request.add("until", until)
        request.add("fail", fail)
        request.add("since", since.map { .string($0) })
        request.add("timeoutMs", timeout.map { .integer($0.wholeMilliseconds) })
        return request
    }
}

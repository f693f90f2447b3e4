import StateMachineClient
import StateMachineProtocol
import StateMachineServer

/// What the lines of one connection to a linked machine's daemon say of the machine: a value that is given one after the other.
///
/// Changes have to come one by one, as the protocol promises; what comes otherwise is an error.
struct LinkReading {
    /// The most bytes of a cursor that is kept.
    ///
    /// 128: a daemon's have some 40.
    private static let cursorBytes = 128

    private let path: String
    /// Where it goes on; nil once there has been a line.
    private var since: String?
    /// The seq of the last line of the watch; nil: none has come.
    private var last: UInt64?
    private var isDescribed = false
    /// Whether another file declares the machine now, so that its daemon is to be asked again.
    private var isOutdated = false

    init(on path: String, since cursor: String?) {
        self.path = path
        self.since = cursor
    }

    /// Whether the daemon is to be asked for its states again; asked once.
    mutating func takeIsOutdated() -> Bool {
        defer { self.isOutdated = false }
        return self.isOutdated
    }

    /// What a line says; nothing if it is of no concern.
    ///
    /// - Throws: ``Untrue``, or `ClientError.refused`.
    mutating func news(of line: Line) throws -> [LinkNews] {
        switch (line.id, line.kind) {
        case ("describe", .reply): return [.described(try self.schema(line))]
        case ("watch", .reply): throw ClientError.refused(line)
        case ("watch", .declared):
            self.isOutdated = true
            return []
        case ("watch", .state), ("watch", .change), ("watch", .live): return try self.states(line)
        default: return []
        }
    }

    private mutating func schema(_ line: Line) throws -> Schema {
        let description = try line.accepted()
        guard let schema = Schema(describing: description.value) else {
            throw self.untrue("describes no states")
        }
        self.isDescribed = true
        return schema
    }

    private mutating func states(_ line: Line) throws -> [LinkNews] {
        guard self.isDescribed, let state = line.state, line["data"]?.members != nil,
            let seq = line.seq, let cursor = line.cursor, cursor.utf8.count <= Self.cursorBytes
        else { throw self.untrue("sent a \(line["type"]?.string?.excerpt() ?? "?") that is none") }
        // What it was when it was last seen is what the first change since then has left.
        let before = line.kind == .change && self.since != nil ? line.from : nil
        for state in [before, state].compactMap(\.self) {
            guard (try? Encoded(state.name, .object(state.data)).checkLength()) != nil else {
                throw self.untrue("sent a state of more than \(RequestLimits.stateBytes) bytes")
            }
        }
        defer { (self.last, self.since) = (seq, nil) }
        if let last = self.last {
            // What is lost is said by a state.
            let isNext =
                line.kind == .change
                ? seq == last &+ 1 : seq == last && line.kind == .live || line.resync != nil
            guard isNext else { throw self.untrue("sent change \(seq) after \(last)") }
        }
        guard let before, let since = self.since else {
            return [.state(state, cursor: cursor)]
        }
        return [.state(before, cursor: since), .state(state, cursor: cursor)]
    }

    private func untrue(_ what: String) -> Untrue {
        Untrue("what answers on \(self.path) \(what)")
    }
}

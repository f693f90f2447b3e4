import NIOCore
import StateMachineProtocol

/// Answers that the engine is asked for first; nothing more is read from the client until then.
extension Connection {
    /// Answers `get` with the state that all hosts have, once a quorum has confirmed it.
    func confirm(_ call: GetCall, by sharing: Sharing, id: RequestID?) {
        self.output.replyLater(ServerLine.refusal(id: id, .goingDown))
        let connection = NIOLoopBound(self, eventLoop: self.server.loop)
        sharing.engine.confirm { trouble in
            connection.eventLoop.execute { connection.value.confirmed(call, trouble, id: id) }
        }
    }

    private func confirmed(_ call: GetCall, _ trouble: SharingTrouble?, id: RequestID?) {
        if let trouble, let sharing = self.server.sharing {
            return self.output.giveLateReply { _ in
                ServerLine.refusal(id: id, sharing.refusal(because: trouble))
            }
        }
        // What others have done by then may be on its way here.
        let connection = NIOLoopBound(self, eventLoop: self.server.loop)
        self.server.afterCommits {
            let server = connection.value.server
            connection.value.output.giveLateReply(after: server.past.ring.head) { _ in
                connection.value.writeState(call, id: id)
                return server.scratch.line.bytes
            }
        }
    }

    /// Whether the cursors of a request can be judged here.
    ///
    /// One that this host has not come to may be another host's, and only a quorum knows: it is asked, and the request comes again
    /// once it has answered.
    func knowsCursors(of call: Request.Call) throws(WireError) -> Bool {
        guard let sharing = self.server.sharing, sharing.isPlaced else { return true }
        switch exchange(&self.cursorCheck, with: .none) {
        case .none, .asked: break
        case .answered(nil): return true
        case .answered(let trouble?): throw sharing.refusal(because: trouble)
        }
        let cursors = call.cursors
        guard !cursors.isEmpty else { return true }
        self.server.catchUp()
        let past = self.server.past
        let isKnown = cursors.allSatisfy { cursor in
            past.seq(of: cursor).map { $0 <= past.ring.head } ?? (Cursor(cursor) == nil)
        }
        guard !isKnown else { return true }
        self.cursorCheck = .asked
        let connection = NIOLoopBound(self, eventLoop: self.server.loop)
        sharing.engine.confirm { trouble in
            connection.eventLoop.execute {
                // What others have done by then may be on its way here.
                connection.value.server.afterCommits {
                    connection.value.cursorCheck = .answered(trouble)
                    connection.value.output.want()
                }
            }
        }
        return false
    }

    /// Answers with the hosts that share the machine.
    func hosts(id: RequestID?) throws(WireError) {
        guard let sharing = self.server.sharing else {
            throw WireError(
                .notFound,
                "no other host shares this machine; statemachine-cluster serves one that is shared"
            )
        }
        self.output.replyLater(ServerLine.refusal(id: id, .goingDown))
        let connection = NIOLoopBound(self, eventLoop: self.server.loop)
        sharing.engine.hosts { hosts in
            connection.eventLoop.execute { connection.value.give(hosts, id: id) }
        }
    }

    private func give(_ hosts: SharingHosts, id: RequestID?) {
        guard let sharing = self.server.sharing else { return }
        self.output.giveLateReply { _ in
            ServerLine.reply(
                id: id,
                own: {
                    $0.write(hosts, at: sharing.engine.host, head: self.server.report.seq)
                },
                rest: { self.server.writeStaleness(to: &$0) }
            )
        }
    }
}

extension StateServer {
    /// How old what is answered may be, where it may be older than what all hosts have.
    func writeStaleness(to writer: inout LineWriter) {
        if let staleMs = self.sharing?.staleMs { writer.number(.staleMs, staleMs) }
    }
}

extension WireError {
    /// What a request is answered that was put to the engine when the daemon went.
    fileprivate static let goingDown = WireError(
        .shuttingDown,
        "the daemon is going down; ask again"
    )
}

extension LineWriter {
    /// The hosts, of which `own` is where this is said, and has come to `head`.
    fileprivate mutating func write(_ all: SharingHosts, at own: String, head: UInt64) {
        self.objects("hosts", all.hosts) { writer, host in
            writer.string("host", host.name)
            if host.name == own { writer.bool("here", true) }
            writer.string("version", host.version)
            // Nobody knows whether a host is there that no quorum shows.
            if all.isFresh { writer.bool("up", true) } else { writer.json("up", .null) }
            let seq = host.name == own ? head : host.seq
            writer.number(.seq, seq)
            writer.number("lag", head - min(seq, head))
            writer.string("session", host.session)
            writer.string("form", host.form)
            if !host.declaration.isEmpty { writer.string(.declaration, host.declaration) }
            writer.string("boot", host.boot)
            if let offset = host.offset, host.name != own { writer.number("offset", offset) }
        }
    }
}

extension Sharing {
    /// Whether the machine is shown as all hosts have it, and what has been counted of that, as `stats` has it.
    var counted: JSONValue {
        var members = [JSONMember("up", .bool(self.trouble == nil))]
        if let trouble = self.trouble {
            members.append(JSONMember("reason", .string(trouble.rawValue)))
        }
        if let staleMs = self.staleMs { members.append(JSONMember("staleMs", .integer(staleMs))) }
        return .object(members + self.engine.counts.members)
    }
}

extension SharingCounts {
    fileprivate var members: [JSONMember] {
        let counts: [(String, UInt64)] = [
            ("connects", self.connects), ("overtaken", self.overtaken), ("tickets", self.tickets),
            ("unsure", self.unsure), ("sessionsLost", self.sessionsLost),
            ("caughtUp", self.caughtUp), ("watchGaps", self.watchGaps), ("epochs", self.epochs),
        ]
        let commits = JSONValue.object([
            JSONMember("us", .array(Times.bounds.map { .integer($0) })),
            JSONMember("counts", .array(self.commits.counts.map { .integer($0) })),
            JSONMember("totalUs", .integer(self.commits.total)),
        ])
        return [JSONMember("hosts", .integer(self.hosts))]
            + counts.map { JSONMember($0, .integer($1)) } + [JSONMember("commits", commits)]
    }
}

/// How far it is with cursors that a host does not know, and that a quorum is asked about.
enum CursorCheck: Equatable {
    /// There are none, as far as is known.
    case none
    case asked
    /// The host has come to where a quorum is; or why it may not have.
    case answered(SharingTrouble?)
}

extension Request.Call {
    /// The cursors that it begins or ends at.
    fileprivate var cursors: [String] {
        switch self {
        case .watch(let call): [call.since].compactMap(\.self)
        case .wait(let call): [call.since].compactMap(\.self)
        case .history(let call):
            [call.since, call.after?.cursor, call.before?.cursor].compactMap(\.self)
        default: []
        }
    }
}

extension HistoryPosition {
    fileprivate var cursor: String? { if case .cursor(let cursor) = self { cursor } else { nil } }
}

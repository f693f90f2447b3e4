import StateMachineCore
import StateMachineProtocol

extension StateServer {
    /// What `stats` answers: who is subscribed, how far behind, what was dropped.
    func stats(id: RequestID?) -> [UInt8] {
        let head = self.past.ring.head
        return ServerLine.reply(
            id: id,
            own: { writer in
                writer.number("uptimeMs", self.uptimeMs)
                if let began { writer.time("began", began) }
                writer.json("counters", self.counters.json)
                if let sharing { writer.json("engine", sharing.counted) }
                self.counters.transitions.write(to: &writer)
                writer.objects("connections", self.clients) { $1.writeRow(to: &$0, head: head) }
                self.writeVoters(to: &writer)
                self.writeObstacles(to: &writer, withLinks: true)
                writer.number(.seq, self.report.seq)
                self.writeStaleness(to: &writer)
            }
        )
    }

    /// What keeps the machine from being changed, and from what is due, and of which links there is something to be said; with
    /// `withLinks` all of them.
    func writeObstacles(to writer: inout LineWriter, withLinks: Bool = false) {
        if let trouble { writer.string(.trouble, trouble) }
        let links = self.links?.rows(onlyTroubles: !withLinks) ?? []
        if !links.isEmpty { writer.json(.links, .array(links)) }
        guard let stays else { return }
        if let suspension = stays.withheld {
            writer.json(.suspended, suspension.json)
        }
        guard let overdue = stays.overdue else { return }
        writer.object(.overdue) { writer in
            writer.number("ms", overdue.ms)
            guard let (deciding, motion) = overdue.denial else { return }
            self.denials(deciding, of: motion).write(to: &writer, ownPeer: self.ownPeer)
        }
    }

    /// The denials of those whose votes decided, and of all others who deny the same at once.
    func denials(_ deciding: [Vote.Denial], of motion: Motion?) -> Denials {
        Denials(deciding, and: self.shownVoters, of: motion, at: self.sharing?.engine.host)
    }

    /// Who may keep which states from being entered, where anybody may.
    private func writeVoters(to writer: inout LineWriter) {
        var (holds, guards) = ([any ShownVoter](), [any ShownVoter]())
        let voters = self.shownVoters.sorted {
            ($0.host ?? "", $0.number) < ($1.host ?? "", $1.number)
        }
        for voter in voters {
            switch voter.terms {
            case .block, .delay: holds.append(voter)
            case .ask, .missing: guards.append(voter)
            }
        }
        let most = ServerLimits.votersShown
        if !holds.isEmpty {
            writer.objects("holds", holds.prefix(most)) { self.writeRow(of: $1, to: &$0) }
        }
        if !guards.isEmpty {
            writer.objects("guards", guards.prefix(most)) { self.writeRow(of: $1, to: &$0) }
        }
        let others = max(0, holds.count - most) + max(0, guards.count - most)
        if others > 0 { writer.number(.more, others) }
    }

    private func writeRow(of voter: any ShownVoter, to writer: inout LineWriter) {
        voter.writeRow(to: &writer, at: voter.host ?? self.sharing?.engine.host)
    }
}

extension ShownVoter {
    /// One row of `stats`.
    fileprivate func writeRow(to writer: inout LineWriter, at host: String?) {
        switch self.terms {
        case .block, .delay: writer.number(.hold, self.number)
        case .ask, .missing: writer.number(.guard, self.number)
        }
        if let host { writer.string(.host, host) }
        writer.number("uid", self.peer.uid)
        writer.number("pid", self.peer.pid)
        writer.program(of: self.peer)
        switch self.terms {
        case .block: writer.string("mode", "block")
        case .delay(let maxMs):
            writer.string("mode", "delay")
            writer.number("maxMs", maxMs)
        case .ask(let timeoutMs, let allowsOnTimeout):
            writer.number("timeoutMs", timeoutMs)
            writer.string("onTimeout", allowsOnTimeout ? "allow" : "deny")
            // What a guard of another host has voted is counted there.
            guard let own = self as? SocketVoter else { break }
            let votes = own.inbox?.votes ?? (allowed: 0, denied: 0)
            writer.number("allowed", votes.allowed)
            writer.number("denied", votes.denied)
            if own.isAsked { writer.bool("isAsked", true) }
        case .missing(let since): writer.time(.missing, since)
        }
        if let name { writer.string(self.terms.isHold ? .named : .required, name) }
        if let until { writer.time("until", until) }
        if self.isAway { writer.bool(.away, true) }
        if self.isVoid { writer.bool("void", true) }
        if let why { writer.string("why", why) }
        let (shown, others) = self.shownPatterns
        writer.json("before", .array(shown))
        if others > 0 { writer.number(.more, others) }
        writer.time("at", self.since)
    }

    /// As many of its patterns as an answer has room for, and how many there are beside them.
    private var shownPatterns: (shown: [JSONValue], others: Int) {
        var (shown, room) = ([JSONValue](), ServerLimits.patternBytesShown)
        let patterns = self.patterns.patterns
        for pattern in patterns {
            room -= pattern.written.description.utf8.count
            guard room >= 0 else { break }
            shown.append(pattern.written)
        }
        return (shown, patterns.count - shown.count)
    }
}

extension Connection {
    /// One row of `stats`.
    fileprivate func writeRow(to writer: inout LineWriter, head: UInt64) {
        writer.number("uid", self.peer.uid)
        writer.number("pid", self.peer.pid)
        writer.program(of: self.peer)
        writer.string("door", self.door.rawValue)
        writer.number("watches", self.watches.count)
        writer.number("waits", self.waits.count)
        writer.number("holds", self.voters.counts.holds)
        writer.number("guards", self.voters.counts.guards)
        writer.number("sets", self.sets.count)
        writer.number("lag", self.watches.lag(at: head))
        writer.number("resyncs", self.watches.resyncs)
        writer.number("bytes", self.output.sent)
        let unindexed = self.watches.unindexed + self.waits.unindexed
        if unindexed > 0 { writer.number("unindexed", unindexed) }
    }
}

/// How often each state was left for which, since the server began: changes that update a state count too.
///
/// Belongs to the event loop.
struct TransitionCounts {
    /// The most pairs that are counted.
    ///
    /// 1,024: a row has some sixty bytes, so that `stats` stays below 64 KiB; a machine's file has rarely a hundred ways.
    private static let most = 1024

    /// Up to this many ways are compared with one that was taken; beyond that, it is found in a table.
    ///
    /// 8: a machine has rarely more that it takes often, and these are the first.
    private static let compared = 8

    private struct Pair: Hashable {
        let from: Spelling
        let to: Spelling
    }

    /// The rows in the order in which they came, and where in it each pair is.
    private var rows: [(pair: Pair, count: UInt64)] = []
    private var indices: [Pair: Int] = [:]

    mutating func add(from: Encoded, to: Encoded) {
        for index in 0..<min(self.rows.count, Self.compared)
        where self.rows[index].pair.from == from.spelling
            && self.rows[index].pair.to == to.spelling
        {
            self.rows[index].count += 1
            return
        }
        let pair = Pair(from: from.spelling, to: to.spelling)
        if let index = self.indices[pair] {
            self.rows[index].count += 1
        } else if self.rows.count < Self.most {
            self.indices[pair] = self.rows.count
            self.rows.append((pair, 1))
        }
    }

    func write(to writer: inout LineWriter) {
        writer.objects("transitions", self.rows) { writer, row in
            writer.string("from", row.pair.from.text)
            writer.string("to", row.pair.to.text)
            writer.number("count", row.count)
        }
    }
}

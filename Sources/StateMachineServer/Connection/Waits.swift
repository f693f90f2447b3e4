import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The waits of one connection that have not been answered.
///
/// Belongs to the event loop; see ``StateServer`` for the exclusivity of its variables.
final class Waits {
    private let server: StateServer
    private let peer: Peer
    private let outbox: Outbox
    private let turn: ConnectionTurn
    private let answers: WaitAnswers

    @exclusivity(unchecked) private var list: WaitList
    /// Whether changes have ended some of them that were not answered.
    @exclusivity(unchecked) private(set) var haveEnded = false
    /// Whether changes before the ring are being held against some of them.
    private var isSearching = false

    init(server: StateServer, peer: Peer, outbox: Outbox, turn: ConnectionTurn, kept: KeptRequests)
    {
        self.server = server
        self.peer = peer
        self.outbox = outbox
        self.turn = turn
        self.answers = WaitAnswers(server: server, outbox: outbox, turn: turn)
        self.list = WaitList(in: kept)
    }

    /// Those that have not been answered, in the order of their requests.
    private var waits: [PendingWait] { self.list.waits }

    var count: Int { self.waits.count }

    // MARK: - Requests

    /// Answers when a state matches, which may be one that has passed or the current one.
    func begin(_ call: WaitCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        try self.list.checkRoom(of: self.server.limits.waitsPerConnection)
        let head = self.server.ring.head
        var resync: ServerLine.Resync?
        var passed = head
        switch call.since.map({ self.server.resumePoint($0) }) {
        case nil: break
        case .replay(let seq): passed = seq
        case .resync(let reason, _): resync = reason
        }
        let wait = PendingWait(id: id, call: call, resync: resync, request: line, of: self)
        let source = self.server.source(after: passed)
        switch source {
        case .history: wait.passed = passed
        // Without a history a cursor that can be used is in the ring.
        case .ring, .none: if self.answers.evaluate(wait, after: passed) { return }
        }
        guard !self.outbox.isClosed else { return }
        try self.list.checkRoom(for: wait)
        self.list.append(wait)
        switch source {
        case .history(let past): self.search(past)
        case .ring, .none:
            if wait.isSearching { self.turn.want() } else { self.server.waits.add(wait) }
        }
        wait.startTimeout(on: self.server.loop)
    }

    /// Ends the wait of that id without an answer; false if there is none.
    func end(_ id: RequestID) -> Bool {
        guard let wait = self.waits.first(where: { $0.id == id }) else { return false }
        return self.remove(wait)
    }

    // MARK: - Evaluating

    /// Goes on with the waits that there was no time for; returns whether that has answered one.
    func resume() -> Bool {
        guard !self.waits.isEmpty else { return false }
        var isFirst = true
        for wait in self.waits {
            guard let seq = wait.passed else { continue }
            let source = self.server.source(after: seq)
            if case .history = source { continue }
            guard exchange(&isFirst, with: false) || !self.turn.mustStop() else { return false }
            switch source {
            case .ring: self.resume(wait, after: seq)
            case .history, .none: self.skip(wait)
            }
            guard wait.isSearching else { return true }
            guard !self.turn.mustStop() else { return false }
        }
        if let past = self.server.past { self.search(past) }
        return false
    }

    /// Goes on with a wait after `seq`, which the ring has to have.
    private func resume(_ wait: PendingWait, after seq: UInt64) {
        if self.answers.evaluate(wait, after: seq) {
            _ = self.remove(wait)
        } else if !wait.isSearching, !self.endIfImpossible(wait) {
            self.server.waits.add(wait)
        }
    }

    /// The states are declared anew: ends those that wait for nothing that there is any more.
    ///
    /// Those that changes of before may end yet are ended when none has.
    func endImpossible() {
        for wait in self.waits where wait.entered == nil && !wait.isSearching {
            if self.endIfImpossible(wait) {
                self.turn.want()
            } else {
                // It lies by what its patterns were.
                self.server.waits.remove(wait)
                wait.redeclared(by: self.server.machine.schema)
                self.server.waits.add(wait)
            }
        }
    }

    private func endIfImpossible(_ wait: PendingWait) -> Bool {
        let schema = self.server.machine.schema
        guard let objection = schema.objection(to: wait.call.until), self.remove(wait) else {
            return false
        }
        let message = "what was waited for is not declared any more: \(objection.message)"
        self.answers.refuse(wait, WireError(.unknownState, message, known: schema.names))
        return true
    }

    /// Goes on with a wait from the current state: what follows its place is not to be had.
    private func skip(_ wait: PendingWait) {
        wait.resync = .evicted
        self.resume(wait, after: self.server.ring.head)
    }

    /// Holds changes before the ring against the waits that have not come so far, a few at a time and with
    /// one read for as many as it serves; only when one has come to the ring is it held against what
    /// happens.
    private func search(_ past: HistoryReader) {
        let waits = self.nextToSearch()
        guard !self.isSearching, let seq = waits.first?.passed else { return }
        self.isSearching = true
        let search = HistorySearch(
            waits: waits.map { (call: $0.call, passed: $0.passed ?? seq) },
            head: self.server.ring.head
        )
        let searcher = NIOLoopBound((self, waits), eventLoop: self.server.loop)
        past.read(
            after: seq,
            for: self.peer.uid,
            making: { search.progress(on: $0, in: past.epoch) },
            done: { finding in
                let (owner, waits) = searcher.value
                owner.isSearching = false
                owner.server.catchUp()
                for (wait, result) in zip(waits, search.progress(in: finding, after: seq)) {
                    owner.searched(wait, result)
                }
                owner.search(past)
                owner.turn.want()
            }
        )
    }

    /// Whether changes before the ring have to be held against a wait.
    private func needsHistory(_ wait: PendingWait) -> Bool {
        guard let seq = wait.passed, case .history = self.server.source(after: seq) else {
            return false
        }
        return true
    }

    /// Those that have come least far, as many as one look may be for.
    private func nextToSearch() -> [PendingWait] {
        let waits = self.waits.filter(self.needsHistory)
            .sorted { ($0.passed ?? 0) < ($1.passed ?? 0) }
        var patterns = 0
        let count = waits.prefix { wait in
            patterns += wait.call.patterns
            return patterns <= HistorySearch.patterns
        }.count
        return Array(waits.prefix(max(count, 1)))
    }

    /// Files what a look into the past has said to a wait; nil: what follows is not to be had.
    private func searched(_ wait: PendingWait, _ result: HistorySearch.Progress?) {
        guard self.list.contains(wait) else { return }
        switch result {
        case .decided(let result, let report):
            self.answers.answer(wait, result, report)
            _ = self.remove(wait)
        case .examined(let seq):
            // Once the ring has come into reach it goes on in the connection's turn.
            wait.passed = seq
        case nil:
            self.skip(wait)
        }
    }

    /// The time of one is over.
    func timeCame(for wait: PendingWait) {
        guard wait.entered == nil, self.remove(wait) else { return }
        self.server.catchUp()
        self.answers.timeOut(wait)
        self.turn.want()
    }

    // MARK: - Answers

    /// A state has ended one; its answer is due.
    func hasEnded() {
        self.haveEnded = true
        self.turn.want()
    }

    /// Answers the waits that changes have ended, while fewer than so many bytes have to be read.
    func answerEnded(until bytes: Int) {
        self.haveEnded = false
        var left: [PendingWait] = []
        for wait in self.waits {
            guard let entered = wait.entered, let result = wait.call.result(entered.state.matches)
            else {
                left.append(wait)
                continue
            }
            guard self.outbox.owesLess(than: bytes) else {
                self.haveEnded = true
                left.append(wait)
                continue
            }
            self.end(wait)
            self.answers.answer(wait, result, self.server.report(of: entered))
        }
        self.list.keep(left)
    }

    /// Answers them all: the daemon is going down.
    func shutDown() {
        self.answerEnded(until: .max)
        for wait in self.waits {
            self.end(wait)
            self.answers.refuse(wait, .shuttingDown)
        }
        self.list.keep([])
    }

    /// Forgets them all.
    func drop() {
        for wait in self.waits { self.end(wait) }
        self.haveEnded = false
        self.list.keep([])
    }

    private func remove(_ wait: PendingWait) -> Bool {
        guard self.list.remove(wait) else { return false }
        self.end(wait)
        return true
    }

    /// Neither a change nor the time ends a wait from here on.
    private func end(_ wait: PendingWait) {
        wait.cancelTimeout()
        self.server.waits.remove(wait)
    }

    // MARK: - From one process to the next

    /// Leaves them to the next process.
    func handOver(to record: inout HandOverRecord.Connection) {
        record.waits = self.waits.map(\.record)
        for wait in self.waits { self.end(wait) }
    }
}

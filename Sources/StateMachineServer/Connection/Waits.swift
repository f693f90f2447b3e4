import FoundationEssentials
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The waits of one connection that have not been answered.
///
/// A wait is the past from its cursor until the first change that ends it. It is judged in its connection's turn and
/// never in the turn of whoever sets, so that idle waits cost a setter nothing, whatever their patterns; one that has
/// been judged by all that has happened rests in its user's ``ReaderIndex``.
///
/// Belongs to the event loop.
final class Waits {
    private let output: Output
    private let standing: StandingRequests
    var server: StateServer { self.output.server }
    private var list: [Wait] { self.standing.waits }

    init(_ output: Output, _ standing: StandingRequests) {
        self.output = output
        self.standing = standing
    }

    var count: Int { self.list.count }

    /// Whether one of them has something to be judged by.
    var areBehind: Bool { self.list.contains(where: self.isBehind) }

    private func isBehind(_ wait: Wait) -> Bool {
        wait.cursor.isBehind(self.server.past.ring.head) || wait.isNew || wait.isOver
            || wait.cursor.declarations < self.server.past.declarations.count
    }

    // MARK: - Requests

    /// Answers when a state matches, which may be one that has passed or the current one.
    ///
    /// Of a wait taken over from the last process `resync` is why it has missed changes, and `leftMs` the time that it
    /// has left.
    func begin(
        _ call: WaitCall,
        id: RequestID?,
        _ line: [UInt8],
        missing resync: ServerLine.Resync? = nil,
        leftMs: UInt64? = nil
    ) throws(WireError) {
        try self.standing.checkRoom("waits", self.count, of: self.server.limits.waitsPerConnection)
        let past = self.server.past
        let (cursor, unusable, _) = past.start(call.since, else: past.ring.head)
        let wait = Wait(
            call,
            id: id,
            after: cursor,
            resync: unusable ?? resync,
            declarations: past.declarations.count,
            leftMs: leftMs ?? call.timeoutMs,
            request: line
        )
        guard !self.judge(wait), !self.output.isClosed else { return }
        try self.standing.checkRoom(for: wait.request)
        try self.standing.checkExceptions(wait.call.exceptingPatterns, of: "a wait")
        self.standing.waits.append(wait)
        if self.isBehind(wait) { self.output.want() } else { self.rest(wait) }
        self.startTimeout(of: wait)
    }

    /// Ends the oldest wait of that id without an answer; false if there is none.
    func end(_ id: RequestID) -> Bool {
        guard let wait = self.list.first(where: { $0.id == id }) else { return false }
        self.remove(wait)
        return true
    }

    /// How many are judged by each change, since no index finds what they want.
    var unindexed: Int { self.list.count { ReaderIndex.places($0.call.readerBuckets) == nil } }

    /// Whether some wait to be found.
    var haveResting: Bool { self.list.contains(where: \.cursor.isResting) }

    /// Whether each waits to be found.
    var areAtRest: Bool { self.list.allSatisfy(\.cursor.isResting) }

    /// Has a wait that has been judged by all that has happened rest until a state comes that may end it.
    private func rest(_ wait: Wait) {
        if self.output.search() { wait.cursor.rest(at: wait.call.readerBuckets, of: self.output) }
    }

    private func remove(_ wait: Wait) {
        wait.end()
        self.standing.waits.removeAll { $0 === wait }
    }

    /// Ends the wait at its deadline.
    ///
    /// It is judged by earlier changes first, unless the history has yet to be read for that.
    private func startTimeout(of wait: Wait) {
        guard let deadline = wait.deadline, !wait.isOver else { return }
        wait.timeout = self.server.loop.assumeIsolated().scheduleTask(deadline: deadline) {
            [weak self] in
            wait.isOver = true
            self?.output.want()
        }
    }

    // MARK: - Judging

    /// Judges all that are behind, as far as there is time and until the client is owed `bytes` bytes; returns
    /// whether one was answered.
    ///
    /// The one that is farthest behind comes first, so that none starves.
    func judge(until bytes: Int) -> Bool {
        var (isFirst, hasAnswered) = (true, false)
        for wait in self.list.filter(self.isBehind).sorted(by: { $0.cursor.seq < $1.cursor.seq }) {
            guard exchange(&isFirst, with: false) || !self.output.mustStop() else { break }
            guard self.output.owesLess(than: bytes) else { break }
            guard self.judge(wait) else {
                if !self.isBehind(wait) { self.rest(wait) }
                continue
            }
            self.remove(wait)
            hasAnswered = true
        }
        return hasAnswered
    }

    /// Judges a wait by what follows its cursor and by the current state, as far as there is time; returns whether that
    /// has answered it.
    private func judge(_ wait: Wait) -> Bool {
        let past = self.server.past
        while true {
            let step = past.next(wait.cursor, for: self.output) { query in
                let (call, epoch) = (wait.call, past.epoch)
                query.only = call.lists
                return { Judgement(of: $0, on: call, in: epoch) }
            }
            switch step {
            case .ring(let changes):
                if self.judge(wait, by: changes) { return true }
                guard wait.cursor.seq == changes.upperBound else { return false }
            case .read(let judgement):
                wait.cursor.passed(to: judgement.examined)
                guard let (outcome, report) = judgement.outcome else { continue }
                self.answer(wait, outcome, report)
                return true
            case .declared: if self.redeclare(wait) { return true }
            case .wait:
                guard wait.isOver, wait.call.timeoutMs != 0 else { return false }
                self.timeOut(wait)
                return true
            case .lost, .unreadable: self.skip(wait)
            case .end:
                if exchange(&wait.isNew, with: false),
                    let outcome = wait.call.outcome(self.server.isCurrent)
                {
                    self.answer(wait, outcome, self.server.report)
                    return true
                }
                guard wait.isOver else { return false }
                self.timeOut(wait)
                return true
            }
        }
    }

    /// Judges a wait by changes that the ring has, as far as there is time; returns whether that has answered it.
    private func judge(_ wait: Wait, by changes: ClosedRange<UInt64>) -> Bool {
        var isAnswered = false
        self.output.look(at: changes, comparing: wait.call.patterns) { seq, row in
            wait.cursor.passed(to: seq)
            let new = row.change.new
            guard let outcome = wait.call.outcome({ self.server.states.shows(new, as: $0) }) else {
                return true
            }
            self.answer(wait, outcome, self.server.report(of: row.change.place, due: row.due))
            isAnswered = true
            return false
        }
        return isAnswered
    }

    /// Reads the wait's patterns again under the present declaration; answers it if they no longer fit that.
    private func redeclare(_ wait: Wait) -> Bool {
        let schema = self.server.schema
        wait.cursor.declarations = self.server.past.declarations.count
        wait.call.until = schema.resolvedAgain(wait.call.until)
        wait.call.fail = schema.resolvedAgain(wait.call.fail)
        guard let objection = schema.objection(to: wait.call.until) else { return false }
        let message =
            "the machine's file was reloaded, and this wait no longer fits it: \(objection.message)"
        self.refuse(wait, WireError(.unknownState, message, known: schema.names))
        return true
    }

    // MARK: - Answers

    /// Answers a wait that a state has ended.
    private func answer(_ wait: Wait, _ outcome: WaitCall.Outcome, _ report: ServerLine.Report) {
        switch outcome {
        case .reached(let pattern):
            self.output.reply(
                ServerLine.reply(
                    id: wait.id,
                    report: report,
                    own: { $0.json("matched", pattern.written) },
                    rest: { writer in
                        self.server.writeOrigin(of: report.seq, to: &writer)
                        writer.resync(wait.resync)
                    }
                )
            )
        case .failed(let pattern):
            let message = "reached \(report.stateText), which counts as failure"
            self.refuse(wait, WireError(.failedState, message), report) { writer in
                writer.json("matched", pattern.written)
            }
        }
    }

    /// Answers a wait whose time is over.
    private func timeOut(_ wait: Wait) {
        let message =
            "the state is still \(self.server.stateText) after \(wait.call.timeoutMs ?? 0) ms, "
            + "as it has been since \(self.server.report.at.rfc3339)"
        self.refuse(wait, WireError(.timeout, message))
    }

    /// Refuses a wait; without a report, with that of the current state.
    private func refuse(
        _ wait: Wait,
        _ error: WireError,
        _ report: ServerLine.Report? = nil,
        own: (inout LineWriter) -> Void = { _ in }
    ) {
        self.output.reply(
            ServerLine.refusal(
                id: wait.id,
                error,
                report: report ?? self.server.report,
                own: own,
                rest: { $0.resync(wait.resync) }
            )
        )
    }

    // MARK: - The end

    /// Answers them all: the daemon is shutting down.
    func shutDown() {
        for wait in self.list { self.refuse(wait, .shuttingDown) }
        self.drop()
    }

    /// Forgets them all.
    func drop() {
        for wait in self.list { wait.end() }
        self.standing.waits = []
    }

    // MARK: - From one process to the next

    /// Leaves them to the next process.
    func record() -> [StandingRow] {
        self.list.map { wait in
            wait.end()
            return .wait(wait.row)
        }
    }

    /// Resumes a wait of the last process at its cursor; `epoch` is that process's.
    func resume(_ row: WaitRow, of epoch: String, asking request: Request) throws(WireError) {
        guard case .wait(var call) = request.call else { return }
        call.since = "\(epoch):\(row.cursor)"
        let line = Array(row.line)
        try self.begin(call, id: request.id, line, missing: row.resync, leftMs: row.leftMs)
    }
}

/// A `wait` that has not been answered.
///
/// Belongs to the event loop.
final class Wait {
    let id: RequestID?
    /// What ends it, under the names of the declaration that it knows.
    var call: WaitCall
    /// The line that asked for it.
    let request: [UInt8]
    /// Set if its cursor could not be used; it was judged from the current state on.
    var resync: ServerLine.Resync?
    /// The last change that it was judged by, and what it knows of the declarations.
    let cursor: PastCursor<Judgement>
    /// Whether it has yet to be judged by the current state.
    var isNew = true
    /// When its time is over; nil: never, or at once.
    let deadline: NIODeadline?
    /// Whether its time is over.
    var isOver: Bool
    var timeout: Scheduled<Void>?

    init(
        _ call: WaitCall,
        id: RequestID?,
        after cursor: UInt64,
        resync: ServerLine.Resync?,
        declarations: Int,
        leftMs: UInt64?,
        request: [UInt8]
    ) {
        self.call = call
        self.id = id
        self.cursor = PastCursor(after: cursor, declarations: declarations, keepsPieces: true)
        self.resync = resync
        self.request = request
        self.deadline = leftMs.map { .now() + .bounded(milliseconds: $0) }
        self.isOver = call.timeoutMs == 0
    }

    /// Has nothing come of it any more.
    func end() {
        self.timeout?.cancel()
        self.cursor.leave()
    }

    var row: WaitRow {
        let left = self.deadline.map { deadline in
            UInt64(max((deadline - .now()).nanoseconds / 1_000_000, 1))
        }
        return WaitRow(
            line: Data(self.request),
            cursor: self.cursor.seq,
            resync: self.resync,
            leftMs: left
        )
    }
}

/// What a few changes that the history has mean for a wait.
struct Judgement: Sendable {
    /// The last that it was judged by.
    let examined: UInt64
    /// How it ends, and with which change; nil if it goes on.
    private(set) var outcome: (WaitCall.Outcome, ServerLine.Report)?

    init(of finding: TransitionFinding, on call: WaitCall, in epoch: Epoch) {
        self.examined = finding.examined
        for transition in finding.transitions {
            var state = transition.new.seen
            guard let outcome = call.outcome({ state.isCovered(by: $0) }) else { continue }
            self.outcome = (outcome, transition.report(in: epoch))
            return
        }
    }
}

extension WaitCall {
    /// How a state ends a wait.
    enum Outcome: Sendable {
        case reached(Pattern)
        case failed(Pattern)
    }

    var patterns: Int { self.until.count + self.fail.count }

    /// What selects the states that may end it.
    fileprivate var lists: [PatternList] {
        self.fail.isEmpty ? [self.until] : [self.until, self.fail]
    }

    /// Where a wait stands for the states that may end it; nil: anywhere.
    var readerBuckets: Set<Bucket>? {
        self.until.readerBuckets.flatMap { until in self.fail.readerBuckets.map(until.union) }
    }

    /// Those of its patterns that count towards ``ServerLimits/exceptingPatternsPerUid``.
    var exceptingPatterns: Int {
        self.until.hasExceptions || self.fail.hasExceptions ? self.patterns : 0
    }

    /// How a state ends the wait; nil if it goes on.
    func outcome(_ matches: (Pattern) -> Bool) -> Outcome? {
        if let pattern = self.fail.first(where: matches) { return .failed(pattern) }
        if let pattern = self.until.first(where: matches) { return .reached(pattern) }
        return nil
    }
}

extension LineWriter {
    fileprivate mutating func resync(_ resync: ServerLine.Resync?) {
        if let resync { self.string("resync", resync.rawValue) }
    }
}

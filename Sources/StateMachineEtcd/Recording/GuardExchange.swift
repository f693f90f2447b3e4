#if Cluster
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Asks guards of other hosts what the machine here wants to know, and guards here what others want to.
///
/// Nothing is decided by it: a question that is lost, and an answer, count as the guard's silence. Whether a guard had to be asked at all
/// the machine's own transactions say, which compare who there is. Belongs to its event loop.
final class GuardExchange {
    /// This host's question.
    private struct Question {
        let ask: SharedAsk
        /// Each as the machine has put it, by the guard.
        var asks: [SharedKeys.Voter: Ask]

        var isOpen: Bool { self.asks.values.contains(where: \.isAwaited) }

        /// As it is put for the others.
        var shared: SharedAsk {
            var shared = self.ask
            shared.guards = self.asks.keys.map { SharedAsk.Guard($0) }
                .sorted {
                    ($0.voter.host, $0.voter.number) < ($1.voter.host, $1.voter.number)
                }
            return shared
        }
    }

    private struct Answer {
        let host: String
        let ask: UInt64
        let guardNumber: UInt64
        let vote: Vote
    }

    /// Answers that wait to be put.
    ///
    /// 1024: a guard has one for each host. Those that are left out count as silence.
    private static let answersLimit = 1024

    private let host: String
    private let keys: SharedKeys
    private let form: SharedForm
    private let limit: Duration
    private let loop: any EventLoop
    private let tell: (SharingNews) -> Void

    private var connection: EtcdConnection?
    private var session: Int64?
    private var question: Question?
    /// As it was put; nil: there is none, or it is not known.
    private var put: SharedAsk?
    /// Whether what was put has to be put or deleted again.
    private var isDoubted = false
    /// Other hosts' questions, as they were seen.
    private var seen: [String: SharedAsk] = [:]
    /// Those that are about a change behind where this host is: whoever is asked hears first of all that led there.
    private var early: [ForeignQuestion] = []
    /// The seq that this host has come to.
    private var seq: UInt64 = 0
    private var answers = CircularBuffer<Answer>()
    private var mustRead = false
    private var isSending = false
    private var isScheduled = false

    init(
        _ settings: SharedRecording.Settings,
        _ keys: SharedKeys,
        _ form: SharedForm,
        on loop: any EventLoop,
        tell: @escaping (SharingNews) -> Void
    ) {
        (self.host, self.limit) = (settings.host, settings.callTimeout)
        (self.keys, self.form, self.loop, self.tell) = (keys, form, loop, tell)
    }

    // MARK: - Connection and session

    func connected(_ connection: EtcdConnection) { self.connection = connection }

    func disconnected() { self.connection = nil }

    func sessionWent(_ session: Int64?) {
        self.session = session
        // It had that of the one before.
        (self.put, self.isDoubted) = (nil, true)
        if session == nil { self.answers.removeAll() }
        self.send()
    }

    /// A watch begins, and what happened before it has to be read.
    func began() {
        self.mustRead = true
        self.send()
    }

    func stop() { (self.connection, self.session, self.question) = (nil, nil, nil) }

    // MARK: - This host's question

    /// The machine asks a guard of another host.
    func asked(_ voter: SharedKeys.Voter, _ ask: Ask) {
        if let question, question.asks[voter] == nil,
            question.asks.values.contains(where: { $0.isOfOneQuestion(with: ask) })
        {
            self.question?.asks[voter] = ask
        } else {
            let motion = ask.motion
            let shared = SharedAsk(
                // Below what JSON's readers keep.
                UInt64.random(in: 1..<1 << 52),
                seq: motion.current.seq,
                from: self.form.shared(motion.current),
                to: self.form.shared(motion),
                beginsStay: motion.beginsStay
            )
            self.question = Question(ask: shared, asks: [voter: ask])
        }
        // Others are asked in the same moment.
        guard !self.isScheduled else { return }
        self.isScheduled = true
        self.loop.assumeIsolated().execute {
            self.isScheduled = false
            self.send()
        }
    }

    /// Looks whether the question is still open.
    func tidy() {
        guard let question, !question.isOpen else { return }
        self.question = nil
        self.send()
    }

    // MARK: - What others have put

    func happened(_ events: [WatchEvent]) {
        for event in events {
            switch self.keys.exchanged(event.entry.key) {
            case .ask(let host) where host != self.host:
                self.heard(event.isDeletion ? nil : self.ask(event.entry.value), of: host)
            case .vote(self.host, let ask, let voter) where !event.isDeletion:
                self.voted(event.entry.value, on: ask, by: voter)
            case .ask, .vote, nil: break
            }
        }
    }

    private func read(_ answer: TransactionRequest.Answer) {
        var asking: Set<String> = []
        for case .range(let range) in answer.results {
            for entry in range.entries {
                switch self.keys.exchanged(entry.key) {
                case .ask(let host) where host != self.host:
                    asking.insert(host)
                    self.heard(self.ask(entry.value), of: host)
                case .vote(self.host, let ask, let voter):
                    self.voted(entry.value, on: ask, by: voter)
                case .ask, .vote, nil: break
                }
            }
        }
        for host in self.seen.keys where !asking.contains(host) { self.heard(nil, of: host) }
    }

    /// Nil of what another version has put: whose guards it is about is not known.
    private func ask(_ value: [UInt8]) -> SharedAsk? {
        do {
            return try SharedAsk(reading: value)
        } catch {
            return nil
        }
    }

    /// A host asks that now; nil: nothing any longer.
    private func heard(_ ask: SharedAsk?, of host: String) {
        let former = self.seen[host]
        guard ask != former else { return }
        if ask?.id != former?.id, former != nil {
            self.early.removeAll { $0.host == host }
            self.tell(.askEnded(host: host))
        }
        self.seen[host] = ask
        guard let ask else { return }
        let known = ask.id == former?.id ? Set(former?.guards ?? []) : []
        let numbers = ask.guards.filter { $0.voter.host == self.host && !known.contains($0) }
            .map(\.voter.number)
        guard !numbers.isEmpty else { return }
        do {
            let motion = try self.form.motion(ask)
            self.early.append(ForeignQuestion(host: host, id: ask.id, motion, guards: numbers))
            self.tellEarly()
        } catch {
            for number in numbers {
                self.vote(.no("host \(self.host): \(error)"), on: ask.id, of: host, by: number)
            }
        }
    }

    /// This host has come to that seq.
    func reached(_ seq: UInt64) {
        self.seq = seq
        if !self.early.isEmpty { self.tellEarly() }
    }

    private func tellEarly() {
        for question in self.early where question.motion.current.seq <= self.seq {
            self.tell(.asked(question))
        }
        self.early.removeAll { $0.motion.current.seq <= self.seq }
    }

    private func voted(_ value: [UInt8], on ask: UInt64, by voter: SharedKeys.Voter) {
        guard let question, question.ask.id == ask, let asked = question.asks[voter] else { return }
        do {
            asked.vote(try SharedVote(reading: value).vote)
        } catch {
            asked.vote(.no("its host \(voter.host) has another version; upgrade this one"))
        }
        self.tidy()
    }

    // MARK: - Guards here

    /// A guard of this host answers a host's question.
    func vote(_ vote: Vote, on ask: UInt64, of host: String, by number: UInt64) {
        guard self.answers.count < Self.answersLimit else { return }
        self.answers.append(Answer(host: host, ask: ask, guardNumber: number, vote: vote))
        self.send()
    }

    // MARK: - Sending, one after the other

    private func send() {
        guard !self.isSending, let connection else { return }
        if self.mustRead {
            self.mustRead = false
            return self.call(connection, self.keys.exchange(of: self.host)) { exchange, outcome in
                if case .answered(let answer) = outcome {
                    exchange.read(answer)
                } else {
                    // The connection ends, or the next watch asks again.
                    exchange.mustRead = true
                }
            }
        }
        guard let session else { return }
        let wanted = self.question?.shared
        if wanted != self.put || self.isDoubted && wanted == nil {
            let request =
                wanted.flatMap { wanted in
                    wanted.id == self.put?.id
                        ? self.keys.extend(wanted, of: self.host, lease: session) : nil
                } ?? self.keys.put(wanted, of: self.host, lease: session)
            self.isDoubted = true
            return self.call(connection, request) { exchange, outcome in
                guard exchange.session == session else { return }
                if case .answered = outcome { (exchange.put, exchange.isDoubted) = (wanted, false) }
            }
        }
        guard let answer = self.answers.popFirst() else { return }
        let voter = SharedKeys.Voter(self.host, answer.guardNumber)
        let request = self.keys.put(
            SharedVote(answer.vote),
            for: answer.host,
            answer.ask,
            by: voter,
            lease: session
        )
        self.call(connection, request) { exchange, outcome in
            if case .answered = outcome { return }
            // Put twice it is the same; once the question is over it is of no use.
            guard exchange.session == session, exchange.seen[answer.host]?.id == answer.ask else {
                return
            }
            exchange.answers.prepend(answer)
        }
    }

    private func call(
        _ connection: EtcdConnection,
        _ request: TransactionRequest,
        then body: @escaping (GuardExchange, Outcome<TransactionRequest.Answer>) -> Void
    ) {
        self.isSending = true
        let bound = NIOLoopBound((self, body), eventLoop: self.loop)
        connection.call(request, within: self.limit) { outcome in
            let (exchange, body) = bound.value
            exchange.isSending = false
            body(exchange, outcome)
            if case .answered = outcome { return exchange.send() }
            // Not at once: it may be refused again, and the deadline of whoever asks goes on.
            exchange.loop.assumeIsolated().scheduleTask(in: .milliseconds(200)) { exchange.send() }
        }
    }
}
#endif

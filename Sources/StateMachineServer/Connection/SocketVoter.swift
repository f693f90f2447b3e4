import StateMachineCore
import StateMachineProtocol

/// What a client's hold or guard is called in the machine, which knows voters by a label.
enum VoterName: Equatable {
    case hold(UInt64)
    case `guard`(UInt64)

    var label: String {
        switch self {
        case .hold(let number): "hold \(number)"
        case .guard(let number): "guard \(number)"
        }
    }

    /// The name in a denial; nil if a delegate of the program denied.
    init?(_ denial: Vote.Denial) {
        // Only a client's voter has a peer, so a delegate's label is never taken for one.
        let words = denial.label.split(separator: " ")
        guard denial.peer != nil, words.count == 2, let number = UInt64(words[1]) else {
            return nil
        }
        switch words[0] {
        case "hold": self = .hold(number)
        case "guard": self = .guard(number)
        default: return nil
        }
    }
}

/// A client's hold or guard: its place among the machine's voters.
///
/// `@unchecked Sendable`: everything but `let`s is touched on the event loop only; the machine asks it
/// there.
final class SocketVoter: @unchecked Sendable {
    let number: UInt64
    let requestID: RequestID?
    let peer: Peer
    let why: String?
    /// The line that asked for it.
    let request: [UInt8]

    /// What it does about a proposal of a state that it covers.
    let terms: VoterTerms
    /// When it began.
    let since: WallTime

    /// The question that it has not answered, and that question's number.
    ///
    /// There is one at a time, since proposals are decided one at a time: a newer question means
    /// that the older one is closed. Letting go of the question is consent.
    private(set) var question: (number: UInt64, question: VoteRequest)?

    /// How long the client has to answer `question`; nil once the question has been sent.
    ///
    /// Only the newest question is ever due, so none pile up for a client that does not read, and
    /// one that does read is never asked an older one instead.
    private var dueMs: UInt64?

    /// How it has voted in this process.
    private(set) var votes = Votes()

    /// Votes that were in time.
    struct Votes {
        private(set) var allowed: UInt64 = 0
        private(set) var denied: UInt64 = 0

        mutating func count(allowing isAllowing: Bool) {
            if isAllowing { self.allowed += 1 } else { self.denied += 1 }
        }
    }

    /// The states whose proposals it votes on.
    let patterns: VoterPatterns

    /// Its name if it is a required guard.
    let required: String?

    /// What it is called in the machine.
    var name: VoterName { self.terms.name(self.number) }

    private var registration: Registration?

    init(
        number: UInt64,
        requestID: RequestID?,
        peer: Peer,
        why: String?,
        before patterns: PatternList,
        terms: VoterTerms,
        required: String? = nil,
        since: WallTime,
        request: [UInt8]
    ) {
        self.required = required
        self.terms = terms
        self.since = since
        self.patterns = VoterPatterns(patterns)
        self.request = request
        self.number = number
        self.requestID = requestID
        self.peer = peer
        self.why = why
    }

    /// Whether it denies that state at once.
    func blocks(_ state: EncodedState) -> Bool {
        self.terms.isBlocking && self.patterns.patterns.contains(where: state.matches)
    }

    /// Its denial of a state that it blocks; nil for one that it allows, delays or is asked about.
    func denial(of state: EncodedState) -> Vote.Denial? {
        guard self.blocks(state) else { return nil }
        return Vote.Denial(
            label: self.name.label,
            peer: self.peer,
            why: self.blockingWhy
        )
    }

    /// The reason that a denial by a blocking voter gives.
    var blockingWhy: String {
        switch self.terms {
        case .block, .delay, .ask: self.why ?? "held"
        case .missing(let since):
            "required as \(self.required ?? "?") and not connected since \(since.rfc3339); "
                + "have it run, or release it by that name"
        }
    }

    func begin(_ registration: Registration) { self.registration = registration }

    /// Keeps a question that waits for the voter's end.
    func keep(_ question: VoteRequest) { self.question = (0, question) }

    /// Keeps a question until the client, which is yet to be sent it, has answered.
    func put(_ question: VoteRequest, number: UInt64, leftMs: UInt64) {
        self.question = (number, question)
        self.dueMs = leftMs
    }

    /// Whether it has a question that has not been sent.
    var hasDue: Bool { self.dueMs != nil }

    /// Takes the unsent question, which is sent now; nil if there is none.
    func takeDue() -> (number: UInt64, question: VoteRequest, leftMs: UInt64)? {
        guard let dueMs = self.dueMs, let (number, question) = self.question else { return nil }
        self.dueMs = nil
        return (number, question, dueMs)
    }

    /// Answers its question; false if that was decided without it.
    func vote(_ call: VoteCall) -> Bool {
        let vote: Vote = call.allow ? .yes : .no(call.why ?? self.why ?? "")
        guard let (_, question) = self.question.take(), question.vote(vote) else { return false }
        self.votes.count(allowing: call.allow)
        return true
    }

    /// Ends it; its open question is decided without it, or denied if there is a reason.
    func end(denying why: String? = nil) {
        if let why { _ = self.question?.question.vote(.no(why)) }
        self.registration?.cancel()
        self.registration = nil
        self.question = nil
        self.dueMs = nil
    }
}

import StateMachineCore
import StateMachineProtocol

/// What a connection's guard is asked: by each host one question at a time, since proposals are decided one at a time; a
/// newer one means that the older one is closed.
///
/// Only the newest is ever due, so none pile up for a client that does not read, and one that does read is never asked
/// an older one instead.
///
/// Belongs to the event loop. A vote may decide the question, and so bring the next one before it returns.
final class GuardInbox {
    /// A question that has not been answered; letting go of the machine's own is consent.
    private struct Open {
        let number: UInt64
        let question: any GuardQuestion
        /// How long the client has to answer it; nil once it has been sent.
        var dueMs: UInt64?
    }

    /// The id of the request for the guard.
    let requestID: RequestID?
    /// False until the client has been answered: no question comes before that.
    var isGranted = true
    /// The votes in this process that were in time.
    private(set) var votes: (allowed: UInt64, denied: UInt64) = (0, 0)
    /// One of each host that asks; most often there is none or one.
    private var open: [Open] = []

    init(requestID: RequestID?) { self.requestID = requestID }

    /// Keeps a question until the client, which is yet to be sent it, has answered.
    func put(_ question: any GuardQuestion, number: UInt64) {
        let dueMs = question.limit.map { UInt64($0 / .milliseconds(1)) } ?? 0
        // What it replaces is let go of afterwards.
        let closed = self.take { $0.question.host == question.host }
        self.open.append(Open(number: number, question: question, dueMs: dueMs))
        withExtendedLifetime(closed) {}
    }

    /// Takes the first that is like that out; nil if none is.
    private func take(_ isMeant: (Open) -> Bool) -> Open? {
        self.open.firstIndex(where: isMeant).map { self.open.remove(at: $0) }
    }

    /// Whether there is a question that has not been sent, and may be: the client knows that the guard is there.
    var hasDue: Bool { self.isGranted && self.open.contains { $0.dueMs != nil } }

    /// Takes the unsent question, which is sent now, even if it was decided meanwhile; nil if there is none.
    func takeDue() -> (number: UInt64, question: any GuardQuestion, leftMs: UInt64)? {
        guard self.isGranted, let index = self.open.firstIndex(where: { $0.dueMs != nil }),
            let dueMs = self.open[index].dueMs.take()
        else { return nil }
        return (self.open[index].number, self.open[index].question, dueMs)
    }

    /// Whether there is a question to answer.
    var isAsked: Bool { self.open.contains { $0.question.isAwaited } }

    /// Whether the client has yet to answer the question of that number.
    func asks(_ number: UInt64) -> Bool { self.open.contains { $0.number == number } }

    /// Answers the question of that number; false if that was decided without it.
    func vote(_ vote: Vote, on number: UInt64) -> Bool {
        guard let open = self.take({ $0.number == number }), open.question.vote(vote) else {
            return false
        }
        if vote == .yes { self.votes.allowed += 1 } else { self.votes.denied += 1 }
        return true
    }

    /// Nothing is asked any more.
    func close() {
        let closed = exchange(&self.open, with: [])
        withExtendedLifetime(closed) {}
    }
}

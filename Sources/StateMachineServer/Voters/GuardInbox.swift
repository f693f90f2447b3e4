import StateMachineCore
import StateMachineProtocol

/// What a connection's guard is asked: one question at a time, since proposals are decided one at a time; a newer one
/// means that the older one is closed.
///
/// Only the newest is ever due, so none pile up for a client that does not read, and one that does read is never asked
/// an older one instead.
///
/// Belongs to the event loop. A vote may decide the question, and so bring the next one before it returns.
final class GuardInbox {
    /// The id of the request for the guard.
    let requestID: RequestID?
    /// False until the client has been answered: no question comes before that.
    var isGranted = true
    /// The votes in this process that were in time.
    private(set) var votes: (allowed: UInt64, denied: UInt64) = (0, 0)
    /// The question that has not been answered; letting go of it is consent.
    private var open: (number: UInt64, question: Ask)?
    /// How long the client has to answer it; nil once it has been sent.
    private var dueMs: UInt64?

    init(requestID: RequestID?) { self.requestID = requestID }

    /// Keeps a question until the client, which is yet to be sent it, has answered.
    func put(_ question: Ask, number: UInt64) {
        // What it replaces is let go of afterwards.
        let closed = exchange(&self.open, with: (number, question))
        withExtendedLifetime(closed) {}
        self.dueMs = question.limit.map { UInt64($0 / .milliseconds(1)) } ?? 0
    }

    /// Whether there is a question that has not been sent, and may be: the client knows that the guard is there.
    var hasDue: Bool { self.isGranted && self.dueMs != nil }

    /// Takes the unsent question, which is sent now, even if it was decided meanwhile; nil if there is none.
    func takeDue() -> (number: UInt64, question: Ask, leftMs: UInt64)? {
        guard self.hasDue, let dueMs = self.dueMs.take(), let (number, question) = self.open else {
            return nil
        }
        return (number, question, dueMs)
    }

    /// Whether there is a question to answer.
    var isAsked: Bool { self.open?.question.isAwaited ?? false }

    /// Whether the client has yet to answer the question of that number.
    func asks(_ number: UInt64) -> Bool { self.open?.number == number }

    /// Answers the question; false if that was decided without it.
    func vote(_ vote: Vote) -> Bool {
        self.dueMs = nil
        guard let (_, question) = self.open.take(), question.vote(vote) else { return false }
        if vote == .yes { self.votes.allowed += 1 } else { self.votes.denied += 1 }
        return true
    }

    /// Nothing is asked any more.
    func close() {
        self.dueMs = nil
        let closed = self.open.take()
        withExtendedLifetime(closed) {}
    }
}

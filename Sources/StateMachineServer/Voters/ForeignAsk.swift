import StateMachineCore
import StateMachineProtocol

/// What a guard is asked: by the machine here, or by another host that shares it.
protocol GuardQuestion: AnyObject {
    var motion: Motion { get }
    /// The host that asks; nil: this one.
    var host: String? { get }
    /// How long the guard is waited for, from when it is asked; nil: until it votes or vanishes.
    var limit: Duration? { get }
    /// Whether it is waited for.
    var isAwaited: Bool { get }
    /// Answers; returns whether the answer counts.
    func vote(_ vote: Vote) -> Bool
}

extension Ask: GuardQuestion {
    var host: String? { nil }
}

/// Another host's question as put to one guard here; that host decides for how long it waits.
///
/// Belongs to the event loop.
final class ForeignAsk: GuardQuestion {
    let question: ForeignQuestion
    let limit: Duration?
    private let guardNumber: UInt64
    private let engine: any MachineSharing
    /// Whether it has neither been answered nor ended.
    private(set) var isAwaited = true

    init(
        _ question: ForeignQuestion,
        to guardNumber: UInt64,
        within limit: Duration?,
        by engine: any MachineSharing
    ) {
        (self.question, self.guardNumber) = (question, guardNumber)
        (self.limit, self.engine) = (limit, engine)
    }

    var motion: Motion { self.question.motion }
    var host: String? { self.question.host }

    /// The host that has asked no longer wants to know.
    func end() { self.isAwaited = false }

    func vote(_ vote: Vote) -> Bool {
        guard self.isAwaited else { return false }
        self.isAwaited = false
        self.engine.vote(vote, on: self.question, by: self.guardNumber)
        return true
    }
}

@testable import StateMachineCore

/// What was proposed, and what became of it.
///
/// Guarded state: all that becomes of it, behind `guarded`.
final class Bid: Sendable {
    enum Kind: Sendable {
        /// Voters are asked; any yes suffices, or any no denies.
        case asking(needsYes: Bool)
        case assignment
        case recast
    }

    enum Aim: Sendable {
        /// That state is set.
        case state(Light, reenter: Bool)
        /// The state after the present one is entered.
        case next
        /// The state changes, and the stay goes on.
        case keep(Light)
        case nothing
    }

    enum Condition: Sendable {
        case none
        case seq(UInt64)
        /// Two seqs in three will do.
        case mostSeqs

        func isMet(at seq: UInt64) -> Bool {
            switch self {
            case .none: true
            case .seq(let wanted): seq == wanted
            case .mostSeqs: !seq.isMultiple(of: 3)
            }
        }
    }

    struct Outcome: Sendable {
        /// From when on it was proposed.
        let began: UInt64
        /// How many changes had happened by then, by whomever.
        var head: UInt64 = 0
        /// When it had been; until then it may be on its way to the gate.
        var returned = UInt64.max
        var answers: [Move.Answer] = []
        /// When it was undecided for sure: a vote on it was cast that counted, or its condition was looked at.
        var undecided: [UInt64] = []
        /// Whether it was to be withdrawn, be it only while it waited.
        var isWithdrawn = false
        /// When it had been, whether it waited or not.
        var withdrawn = UInt64.max
    }

    /// Its place among all, and the cause of its change.
    let number: Int
    let kind: Kind
    let aim: Aim
    let condition: Condition
    private let guarded: Lock<Outcome>

    init(_ number: Int, _ kind: Kind, _ aim: Aim, if condition: Condition, from began: UInt64) {
        (self.number, self.kind, self.aim, self.condition) = (number, kind, aim, condition)
        self.guarded = Lock(Outcome(began: began))
    }

    var outcome: Outcome { self.guarded.withLock { $0 } }

    func note(_ change: (inout Outcome) -> Void) { self.guarded.withLock { change(&$0) } }

    /// What is asked for; `judging` is called whenever its condition is looked at, unless that is none or a seq.
    func move(judging: @escaping @Sendable () -> Void = {}) -> Move {
        let condition: Move.Condition =
            switch self.condition {
            case .none: .none
            case .seq(let seq): .seq(seq)
            case .mostSeqs:
                .holds {
                    judging()
                    return Condition.mostSeqs.isMet(at: $0.seq)
                }
            }
        return switch (self.kind, self.aim) {
        case (.recast, .state(let light, _)):
            Move(to: .recast { _ in (light.value, looksSame: false) }, cause: "\(self.number)")
        case (.recast, _):
            Move(to: .recast { ($0.value.light.value, looksSame: true) }, cause: "\(self.number)")
        case (_, .state(let light, let reenter)):
            Move(to: light.value, if: condition, reenter: reenter, cause: "\(self.number)")
        case (_, .next):
            Move(
                to: .made { .enter($0.value.light.next.value) },
                if: condition,
                cause: "\(self.number)"
            )
        case (_, .keep(let light)):
            Move(to: .made { _ in .keep(light.value) }, if: condition, cause: "\(self.number)")
        case (_, .nothing):
            Move(to: .made { _ in .nothing(.unhandled) }, if: condition, cause: "\(self.number)")
        }
    }
}

extension Bid.Kind {
    /// What is decided in one order.
    var index: Int {
        switch self {
        case .asking: 0
        case .assignment: 1
        case .recast: 2
        }
    }
}

extension Light {
    /// The one after it, by which all are reached.
    var next: Light {
        switch self {
        case .off: .dim
        case .dim: .bright
        case .bright: .broken
        case .broken: .off
        }
    }

    var value: Value { TypedValue(self) }
}

extension Move.Answer {
    /// Where the machine was then.
    var place: StateMachineCore.Place {
        switch self {
        case .success(let outcome): outcome.place
        case .failure(let refused): refused.current
        }
    }

    /// Whether it was decided in its turn, by the place that is in the answer.
    var isInTurn: Bool {
        guard case .failure(let refused) = self else { return true }
        return switch refused.reason {
        case .illegal, .conflict, .denied: true
        case .stale, .notCommitted, .unsure, .overloaded, .wouldWait, .withdrawn: false
        }
    }
}

package import StateMachineProtocol

/// One of the cases that stand where something leads: the first is taken whose conditions hold and whose values fit.
package struct Branch: Hashable, Sendable {
    /// What happens.
    package enum Outcome: Hashable, Sendable {
        /// The state is left for another, or entered anew.
        case enter(DeclaredTarget)
        /// A new stay in the same state, as an event asks for it.
        case again(DeclaredTarget)
        /// Fields change, and the stay goes on; the target is the state itself.
        case keep(DeclaredTarget)
        /// The deadline begins anew.
        case stay
        /// Nothing.
        case ignore
        /// The command of the stay, which was interrupted, is run again.
        case rerun
        /// Nothing, and whoever has sent the event is told why.
        case refuse(String)

        /// Where it leads; nil if nothing changes.
        package var target: DeclaredTarget? {
            switch self {
            case .enter(let target), .again(let target), .keep(let target): target
            case .stay, .ignore, .rerun, .refuse: nil
            }
        }

        /// Where it leads, if a new stay begins there.
        package var entered: DeclaredTarget? {
            switch self {
            case .enter(let target), .again(let target): target
            case .keep, .stay, .ignore, .rerun, .refuse: nil
            }
        }
    }

    /// All of which must hold; none: it always does.
    package let conditions: [DeclaredCondition]
    package let outcome: Outcome
}

/// What a case requires of the event and of the state as it is before the move, or of another machine as it is seen then.
package struct DeclaredCondition: Hashable, Sendable {
    package enum Test: Hashable, Sendable {
        /// Both are there, and compare like that.
        case compares(
            DeclaredTarget.Source,
            Comparator,
            DeclaredTarget.Source,
            asInstants: Bool
        )
        /// A boolean that is true, or an optional one that is there.
        case isThere(DeclaredTarget.Source)
        case isNotThere(DeclaredTarget.Source)
        /// Another machine is seen to be so.
        case isSeen(LinkCondition)
    }

    /// As the file has it.
    package let written: String
    let test: Test
    /// Whether it holds of every value that the field can have.
    let alwaysHolds: Bool
}

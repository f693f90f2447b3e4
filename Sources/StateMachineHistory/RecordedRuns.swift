import StateMachineCore
import StateMachineProtocol

// What the database has of the run before, and what is written of this one.
extension HistoryDatabase {
    /// Where the last run ended.
    struct Past {
        /// The numbering; nil if there is none.
        let epoch: String?
        /// Whether nothing of it can have been lost.
        let isWhole: Bool
        /// The newest transition; nil if there is none at all.
        let newest: RecordedTransition?
        /// The oldest transition but the one in which all began; nil if there is none.
        let oldest: UInt64?
        /// What declared the newest state; nil if a program had it in it.
        let declaration: LastDeclaration?
        /// The start of the machine in which it was written; nil if that is not known.
        let boot: String?
        /// Since when the stay counts that was noted last; nil if none was.
        let stay: NotedStay?
        /// The guards that were required.
        let requirements: [Requirement]

        /// Whether this is not what was there when that was noted, nor what came of it.
        func isBehind(_ last: StateDirectory.Numbering) -> Bool {
            guard let epoch = self.epoch else { return false }
            return epoch != last.epoch || (self.newest?.seq ?? 0) < last.seq
        }
    }

    /// What a run stands on.
    struct Beginning {
        /// Takes the place of what has its seq.
        let newest: RecordedTransition
        let epoch: String
        /// What declares its state.
        let declaration: RecordedDeclaration?
        /// Since when the present stay counts; nil to leave what is noted.
        let stay: StayStart?
    }
}

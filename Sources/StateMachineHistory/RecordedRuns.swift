import StateMachineCore
import StateMachineProtocol

// What the database has from the run before, and what is written about this one.
extension HistoryDatabase {
    /// Where the last run ended.
    struct Past {
        /// The numbering; nil if there is none.
        var epoch: String?
        /// The numberings that it continues, oldest first.
        var earlier: [EarlierNumbering] = []
        /// Whether nothing of it can have been lost.
        var isWhole: Bool = true
        /// The newest transition; nil if there is none at all.
        var newest: RecordedTransition?
        /// The oldest transition except the initial state; nil if there is none.
        var oldest: UInt64?
        /// The declaration of the newest state; nil if its states were built into a program.
        var declaration: LastDeclaration?
        /// The boot in which it was written; nil if not known.
        var boot: String?
        /// When the newest transition's stay began, or the oldest kept row of it was made; nil if
        /// there is no transition.
        var begun: WallTime?
        /// The last recorded start of a stay; nil if there is none.
        var stay: NotedStay?
        /// The holds and guards that were there.
        let voters: [KeptVoter]

        /// The most earlier numberings that are kept.
        ///
        /// 64: one for each loss of power; cursors from before that many are of no use.
        private static let mostNumberings = 64

        /// The numberings that a run continues which has all changes up to `end` as they were.
        func numberings(upTo end: UInt64, isContinued: Bool) -> [EarlierNumbering] {
            let own = isContinued ? nil : self.epoch.map { EarlierNumbering(epoch: $0, end: end) }
            let cut = self.earlier.map { EarlierNumbering(epoch: $0.epoch, end: min($0.end, end)) }
            return (cut + [own].compactMap(\.self)).suffix(Self.mostNumberings)
        }

        /// Whether this ends before `last`, or has another numbering.
        func isBehind(_ last: StateDirectory.Numbering) -> Bool {
            guard let epoch = self.epoch else { return false }
            return epoch != last.epoch || (self.newest?.seq ?? 0) < last.seq
        }
    }

    /// What a run starts from.
    struct Beginning {
        /// Replaces any row with its seq.
        let newest: RecordedTransition
        let epoch: String
        let earlier: [EarlierNumbering]
        /// The declaration of its state.
        let declaration: RecordedDeclaration?
        /// The start of the present stay; nil keeps the recorded one.
        let stay: StayStart?
    }
}

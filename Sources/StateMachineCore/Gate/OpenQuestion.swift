/// The question about a gate's first proposal, from before it is put until the verdict is acted on.
struct OpenQuestion: Sendable {
    /// How far the first proposal has come.
    enum Stage: Sendable {
        /// It waits its turn, or is being evaluated.
        case waiting
        /// Voters are to be asked about it once nothing is on its way to the log, since they have to
        /// have heard of all that came before.
        case awaitingQuiet
        /// The voters have it.
        case asked(Ballot)
        /// The voters have spoken.
        case decided(Ballot, Verdict)
    }

    private(set) var stage = Stage.waiting
    /// A question that is closed without an answer, since the state was recast.
    var voided: Ballot?
    /// How many have been put.
    var count: UInt64 = 0

    /// The question that is open, or was just decided.
    var ballot: Ballot? {
        switch self.stage {
        case .waiting, .awaitingQuiet: nil
        case .asked(let ballot), .decided(let ballot, _): ballot
        }
    }

    /// Has the proposal, or the next one, evaluated.
    mutating func wait() { self.stage = .waiting }

    /// Leaves it to be put once nothing is on its way to the log.
    mutating func awaitQuiet() { self.stage = .awaitingQuiet }

    /// Nothing is on its way to the log any more.
    mutating func cameQuiet() {
        guard case .awaitingQuiet = self.stage else { return }
        self.stage = .waiting
    }

    /// Puts it; `decided` is called with the verdict and the question's number.
    mutating func put(
        on motion: Motion,
        under question: Question,
        to voters: [VoterMember],
        decided: @escaping @Sendable (Verdict, _ question: UInt64) -> Void
    ) -> Ballot {
        self.count += 1
        let number = self.count
        let ballot = Ballot(
            on: motion,
            under: question,
            voters: voters,
            decided: { decided($0, number) }
        )
        self.stage = .asked(ballot)
        return ballot
    }

    /// Records the verdict on the question of that number, which may be closed by now.
    mutating func decided(_ verdict: Verdict, on number: UInt64) {
        guard case .asked(let ballot) = self.stage, number == self.count else { return }
        self.stage = .decided(ballot, verdict)
    }

    /// Voids the question, since the state was recast; its proposal is evaluated anew.
    mutating func void() {
        self.voided = self.ballot
        self.stage = .waiting
    }

    /// Takes the question to close, once.
    mutating func takeVoided() -> Ballot? { self.voided.take() }
}

#if Cluster
import StateMachineCore
import StateMachineProtocol

/// The holds and guards of other hosts, and those of this one that outlive its session, which have a say in the machine here.
///
/// Belongs to the event loop of who performs; each is asked wherever the machine decides.
final class ForeignVoters {
    private let schema: Schema
    private var members: [SharedKeys.Voter: ForeignMember] = [:]

    init(_ schema: Schema) { self.schema = schema }

    /// All of them.
    var all: [ForeignVoter] { self.members.values.map(\.voter) }

    /// Has these have a say from now on, and those no longer; there is no moment without one that is replaced.
    ///
    /// - Parameters:
    ///   - put: the ones that have come, or are others now.
    ///   - gone: those that have ended.
    ///   - machine: where they have their say.
    ///   - ask: called, from anywhere, with what one of the guards is to be asked.
    func change(
        putting put: [SharedKeys.Voter: [UInt8]],
        removing gone: Set<SharedKeys.Voter>,
        in machine: Machine,
        asking ask: @escaping @Sendable (SharedKeys.Voter, Ask) -> Void
    ) {
        for (key, value) in put {
            let record = KeptVoter(key.number, reading: value)
            let voter = ForeignVoter(record, at: key.host, in: self.schema)
            let member = ForeignMember(voter) { ask(key, $0) }
            member.begin(in: machine, self.schema)
            self.members.updateValue(member, forKey: key)?.end()
        }
        for key in gone { self.members.removeValue(forKey: key)?.end() }
    }
}

/// One of them as a voter of the machine.
///
/// Guarded state: `registration`, which belongs to the event loop of who performs, and `postponed`, behind its lock.
private final class ForeignMember: @unchecked Sendable {
    let voter: ForeignVoter
    private let ask: @Sendable (Ask) -> Void
    private var registration: Registration?
    /// A question that waits for its end.
    private let postponed = Lock<Ask?>(nil)

    init(_ voter: ForeignVoter, asking ask: @escaping @Sendable (Ask) -> Void) {
        (self.voter, self.ask) = (voter, ask)
    }

    func begin(in machine: Machine, _ schema: Schema) {
        let patterns = self.voter.asked.before
        self.registration = machine.addVoter(
            Machine.Voter(
                self.voter.claim,
                peer: self.voter.record.peer,
                at: self.voter.host,
                deadline: self.voter.asked.terms.deadline()
            ),
            on: .immediate,
            at: patterns.buckets,
            before: { schema.concerns(patterns, $0) },
            { self.asked($0) }
        )
    }

    private func asked(_ question: Ask) {
        guard !self.voter.isOver(at: .now) else {
            question.vote(.yes)
            return
        }
        switch self.voter.asked.terms {
        case .block, .missing: question.vote(.no(self.voter.blockingWhy))
        case .delay:
            // What it replaces is let go of after the lock.
            let former = self.postponed.withLock { exchange(&$0, with: question) }
            withExtendedLifetime(former) {}
        case .ask: self.ask(question)
        }
    }

    /// Ends it: an open question waits for it no longer.
    func end() {
        self.registration?.cancel()
        self.registration = nil
        let former = self.postponed.withLock { $0.take() }
        withExtendedLifetime(former) {}
    }
}
#endif

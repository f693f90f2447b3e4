import StateMachineCore
import StateMachineProtocol

/// The states before which a hold or a guard is asked.
///
/// Guarded state: `asked`, behind its lock: the gate reads it on any thread. `patterns` is touched on the event
/// loop only, which makes `@unchecked Sendable` true.
final class VoterPatterns: @unchecked Sendable {
    /// What was asked for, under the names of the declaration that is in force.
    private(set) var patterns: PatternList
    private let asked: Lock<[PatternList]>

    init(_ patterns: PatternList) {
        self.patterns = patterns
        self.asked = Lock([patterns])
    }

    /// Another declaration may come into force at the gate at any moment: from here on the patterns hold under its
    /// names too, so that nothing that is held slips through between the one and the other.
    func expect(_ next: StateSchema) {
        let all = [self.patterns, next.resolvedAgain(self.patterns)]
        self.asked.withLock { $0 = all }
    }

    /// That is the declaration in force.
    func settle(on schema: StateSchema) {
        self.patterns = schema.resolvedAgain(self.patterns)
        self.asked.withLock { $0 = [self.patterns] }
    }

    /// Whether they mean a state, of which `names` tells what patterns speak of it; called by the gate too.
    func contain(where names: (Pattern) -> Bool) -> Bool {
        // Nothing is called under the lock.
        self.asked.withLock { $0 }.contains { $0.contains(where: names) }
    }

    /// Whether no state that there is can ever match.
    func areVoid(in schema: StateSchema) -> Bool { schema.objection(to: self.patterns) != nil }
}

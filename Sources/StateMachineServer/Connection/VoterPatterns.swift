import StateMachineCore
import StateMachineProtocol

/// The states whose proposals a hold or a guard votes on.
///
/// Guarded state: `asked`, behind its lock: the gate reads it on any thread. `patterns` is touched on the event
/// loop only, which makes `@unchecked Sendable` true.
final class VoterPatterns: @unchecked Sendable {
    /// The requested patterns, under the names of the declaration in force.
    private(set) var patterns: PatternList
    private let asked: Lock<[PatternList]>

    init(_ patterns: PatternList) {
        self.patterns = patterns
        self.asked = Lock([patterns])
    }

    /// Makes the patterns apply under the names of the next declaration too.
    ///
    /// It may come into force at the gate at any moment, and no held state may slip through.
    func expect(_ next: StateSchema) {
        let all = [self.patterns, next.resolvedAgain(self.patterns)]
        self.asked.withLock { $0 = all }
    }

    /// Settles on the declaration that is in force.
    func settle(on schema: StateSchema) {
        self.patterns = schema.resolvedAgain(self.patterns)
        self.asked.withLock { $0 = [self.patterns] }
    }

    /// Matches nothing from now on: no further question is put.
    func retire() { self.asked.withLock { $0 = [] } }

    /// Whether they match a state; `names` says whether one pattern does.
    ///
    /// The gate calls this too.
    func contain(where names: (Pattern) -> Bool) -> Bool {
        // Nothing is called under the lock.
        self.asked.withLock { $0 }.contains { $0.contains(where: names) }
    }

    /// Whether no declared state can ever match.
    func areVoid(in schema: StateSchema) -> Bool { schema.objection(to: self.patterns) != nil }
}

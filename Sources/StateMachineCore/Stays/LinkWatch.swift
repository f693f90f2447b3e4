/// Which keys of `when` that name other machines happen in a stay, and in which order: each time that one comes to match.
///
/// A value that decides and does nothing; each method is an event.
package struct LinkWatch: Sendable {
    /// One attempt to have a key happen.
    package struct Attempt: Hashable, Sendable {
        package let stay: UInt64
        package let key: String
    }

    /// The stay that it is about.
    package private(set) var stay: UInt64
    private var matched: Set<String>
    /// The keys that have come to match, and have not happened yet, in that order; each is there once.
    private var due: [String]
    /// Those of them that were tried in vain.
    private var passed: Set<String> = []
    /// What is being tried, perhaps of an earlier stay.
    package private(set) var trying: Attempt?

    /// A stay that begins, or goes on as the last run left it.
    package init(stay: UInt64, after left: KeptLinks? = nil) {
        let left = left.flatMap { $0.stay == stay ? $0 : nil }
        self.stay = stay
        self.matched = Set(left?.matched ?? [])
        self.due = left?.due ?? []
    }

    /// Another stay has begun, or the same one goes on without what was tried.
    package mutating func entered(_ stay: UInt64) {
        let trying = self.trying
        self = LinkWatch(stay: stay)
        self.trying = trying
    }

    /// Something was seen of a machine.
    ///
    /// - Parameters:
    ///   - keys: the present state's keys that are about it, in the file's order.
    ///   - isMet: whether one matches.
    /// - Returns: whether that has changed of any of them.
    package mutating func saw(_ keys: [String], _ isMet: (String) -> Bool) -> Bool {
        var hasChanged = false
        for key in keys {
            if !isMet(key) {
                if self.matched.remove(key) != nil { hasChanged = true }
            } else if self.matched.insert(key).inserted {
                hasChanged = true
                if !self.due.contains(key) { self.due.append(key) }
            }
        }
        return hasChanged
    }

    /// The state has those keys from now on.
    package mutating func redeclared(_ keys: [String]) {
        self.matched.formIntersection(keys)
        self.passed.formIntersection(keys)
        self.due.removeAll { !keys.contains($0) }
    }

    /// The key to try now; nil: none, or one is being tried.
    package mutating func next() -> Attempt? {
        guard self.trying == nil, let key = self.due.first(where: { !self.passed.contains($0) })
        else { return nil }
        self.trying = Attempt(stay: self.stay, key: key)
        return self.trying
    }

    /// It has happened, or will never.
    package mutating func happened(_ attempt: Attempt) {
        self.trying = nil
        guard attempt.stay == self.stay else { return }
        self.due.removeAll { $0 == attempt.key }
        self.passed.remove(attempt.key)
    }

    /// It was tried in vain: others go first, until ``retry()``.
    package mutating func failed(_ attempt: Attempt) {
        self.trying = nil
        if attempt.stay == self.stay { self.passed.insert(attempt.key) }
    }

    /// What was tried in vain, in order.
    package var pending: [String] { self.due.filter { self.passed.contains($0) } }

    /// What kept some from happening may have gone.
    package mutating func retry() { self.passed = [] }

    /// What is kept of it, without a key that is about to have happened.
    package func kept(_ cursors: [String: String], without key: String? = nil) -> KeptLinks {
        KeptLinks(
            stay: self.stay,
            cursors: cursors,
            matched: self.matched.sorted(),
            due: self.due.filter { $0 != key }
        )
    }
}

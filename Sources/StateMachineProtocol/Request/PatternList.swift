/// Selects states by several patterns: those that one of them matches, except those that a pattern
/// with a `!` excludes; if all have a `!`, all other states.
package struct PatternList: Hashable, Sendable {
    /// All patterns, as they were written.
    package let patterns: [Pattern]
    private let selecting: [Pattern]
    private let excepting: [Pattern]

    package init(_ patterns: [Pattern]) {
        self.patterns = patterns
        self.excepting = patterns.filter(\.isException)
        self.selecting =
            self.excepting.isEmpty ? patterns : patterns.filter { !$0.isException }
    }

    package var count: Int { self.patterns.count }

    package var isEmpty: Bool { self.patterns.isEmpty }

    /// Whether one of them excludes states.
    package var hasExceptions: Bool { !self.excepting.isEmpty }

    /// Whether a state is selected; see ``first(where:)``.
    package func contains(where names: (Pattern) -> Bool) -> Bool {
        self.first(where: names) != nil
    }

    /// The first pattern that selects a state; an empty list selects none.
    ///
    /// - Parameter names: whether a pattern covers the state, ignoring its `!`.
    /// - Returns: nil if the state is not selected.
    package func first(where names: (Pattern) -> Bool) -> Pattern? {
        guard !self.excepting.contains(where: names) else { return nil }
        // If all patterns exclude, everything not excluded is selected.
        return self.selecting.isEmpty ? self.excepting.first : self.selecting.first(where: names)
    }

    /// The names of all states that may be selected, former ones too; nil if that is unknown.
    package var names: [String]? {
        guard !self.selecting.isEmpty, !self.selecting.contains(where: \.isOfGroup) else {
            return nil
        }
        return self.selecting.flatMap(\.names)
    }

    /// The patterns as they were written, with commas between.
    package var written: String { self.patterns.map(\.written).listed }
}

/// Where a state is found by the patterns that cover it: a number for its name, and one for its name together with
/// each plain value that it carries.
///
/// Two places may have one number, so what is found there is to be matched.
enum PatternPlace {
    /// All places of a state.
    static func all(of name: String, _ data: JSONValue) -> [Int] {
        let name = Self.hasher(of: name)
        let values = data.members?.compactMap { Self.place(of: $0, name) } ?? []
        return values + [name.finalize()]
    }

    /// The places of the states that a pattern covers, one for each name.
    static func places(of pattern: Pattern) -> [Int] {
        pattern.coveredNames.map { name in
            let name = Self.hasher(of: name)
            return pattern.data.lazy.compactMap { Self.place(of: $0, name) }.first
                ?? name.finalize()
        }
    }

    private static func hasher(of name: String) -> Hasher {
        var hasher = Hasher()
        name.hashSpelling(into: &hasher)
        return hasher
    }

    /// Nil if patterns may ask for a part of the value.
    private static func place(of member: JSONMember, _ name: Hasher) -> Int? {
        guard member.value.isPlain else { return nil }
        var hasher = name
        member.key.hashSpelling(into: &hasher)
        member.value.hashValue(into: &hasher)
        return hasher.finalize()
    }
}

extension JSONValue {
    /// Whether it has no parts.
    fileprivate var isPlain: Bool { self.members == nil && self.elements == nil }
}

extension PatternList {
    /// Where the states are found that it selects; nil: anywhere.
    ///
    /// One that asks for several values is found by the first of them.
    package var places: Set<Int>? {
        guard !self.selecting.isEmpty || self.excepting.isEmpty else { return nil }
        return Set(self.selecting.flatMap(PatternPlace.places))
    }

    /// How many of its patterns may be matched with states that have one of its places and that it does not select: all
    /// of them if some exclude states, and else those that ask for several values or for parts.
    package var inexactPatterns: Int {
        guard !self.hasExceptions else { return self.count }
        return self.selecting.count { pattern in
            pattern.data.count > 1 || pattern.data.contains { !$0.value.isPlain }
        }
    }
}

extension StateSchema {
    /// Why none of the states that a list selects exists; nil if one may.
    package func objection(to list: PatternList) -> WireError? {
        var objection: WireError?
        for pattern in list.patterns where !pattern.isException {
            do {
                _ = try self.resolved(pattern, isOld: true)
                return nil
            } catch {
                objection = objection ?? error
            }
        }
        return objection
    }
}

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

    /// The same patterns, each as transformed by `read`.
    package func mapped(
        _ read: (Pattern) throws(WireError) -> Pattern
    ) throws(WireError) -> PatternList {
        PatternList(
            try self.patterns.map { (pattern) throws(WireError) in try read(pattern) }
        )
    }

    /// The patterns as they were written, with commas between.
    package var written: String { self.patterns.map(\.written).listed }

    package static func == (left: PatternList, right: PatternList) -> Bool {
        left.patterns == right.patterns
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.patterns) }
}

extension StateSchema {
    /// Why none of the states that a list selects exists; nil if one may.
    package func objection(to list: PatternList) -> WireError? {
        var objection: WireError?
        for pattern in list.patterns where !pattern.isException {
            do {
                _ = try self.followed(pattern)
                return nil
            } catch {
                objection = objection ?? error
            }
        }
        return objection
    }
}

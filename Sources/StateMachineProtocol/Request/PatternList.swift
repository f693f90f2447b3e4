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
        guard !self.excepting.contains(where: names) else { return false }
        return self.selecting.isEmpty
            ? !self.excepting.isEmpty : self.selecting.contains(where: names)
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

    /// Whether one of the patterns selects a state and did not select the one before, each by itself, with the exceptions.
    ///
    /// - Parameters:
    ///   - names: whether a pattern covers the state, ignoring its `!`.
    ///   - before: the same of the state before; nil: there is none that counts.
    /// - Returns: whether one does.
    package func comesToMatch(
        _ names: (Pattern) -> Bool,
        from before: ((Pattern) -> Bool)?
    ) -> Bool {
        guard let before, !self.excepting.contains(where: before) else {
            return self.contains(where: names)
        }
        return !self.excepting.contains(where: names)
            && self.selecting.contains { names($0) && !before($0) }
    }

    /// The names of all states that may be selected, former ones too; nil if that is unknown.
    package var names: [String]? {
        guard !self.selecting.isEmpty, !self.selecting.contains(where: \.isOfGroup) else {
            return nil
        }
        return self.selecting.flatMap(\.names)
    }

    /// Whether ``names`` alone say which states are selected.
    package var isOfNames: Bool {
        !self.hasExceptions && self.names != nil && self.selecting.allSatisfy(\.data.isEmpty)
    }

    /// The patterns as they were written, with commas between.
    package var written: String { self.patterns.map(\.written).listed }
}

/// Where a change is found by the patterns that it makes true: a number for the state's name, and one for its name
/// together with each plain value that it carries.
///
/// Each comes twice. A pattern that asks for no more than the bucket says comes to match only if that is new, so it stands
/// at the number's complement, which a change of what the state carries has only for values that are other ones than
/// before. Two buckets may have one number, so what is found there is to be matched.
enum PatternBucket {
    /// All buckets of a state, whatever was before.
    static func all(of name: String, _ data: JSONValue) -> [Int] {
        let name = Self.hasher(of: name)
        return [name.finalize()] + (data.members ?? []).compactMap { Self.bucket(of: $0, name) }
    }

    /// All buckets of a change to a state; `before` is the data of the same state if its stay goes on.
    static func all(of name: String, _ data: JSONValue, after before: JSONValue?) -> [Int] {
        let name = Self.hasher(of: name)
        let state = name.finalize()
        var buckets = before == nil ? [state, ~state] : [state]
        let earlier = before.map { JSONMembers($0.members ?? []) }
        for member in data.members ?? [] {
            guard let bucket = Self.bucket(of: member, name) else { continue }
            buckets.append(bucket)
            if earlier?[member.key] != member.value { buckets.append(~bucket) }
        }
        return buckets
    }

    /// The buckets of the states that a pattern covers, one for each name.
    ///
    /// - Parameters:
    ///   - pattern: the pattern.
    ///   - isAlone: whether nothing but the pattern says what comes to match.
    /// - Returns: the buckets at which a voter stands.
    static func buckets(of pattern: Pattern, isAlone: Bool) -> [Int] {
        pattern.coveredNames.map { name in
            let name = Self.hasher(of: name)
            let bucket =
                pattern.data.lazy.compactMap { Self.bucket(of: $0, name) }.first ?? name.finalize()
            return isAlone && pattern.isOfOneBucket ? ~bucket : bucket
        }
    }

    private static func hasher(of name: String) -> Hasher {
        var hasher = Hasher()
        name.hashSpelling(into: &hasher)
        return hasher
    }

    /// Nil if patterns may ask for a part of the value.
    private static func bucket(of member: JSONMember, _ name: Hasher) -> Int? {
        guard member.value.isPlain else { return nil }
        var hasher = name
        member.key.hashSpelling(into: &hasher)
        member.value.hashValue(into: &hasher)
        return hasher.finalize()
    }
}

extension Pattern {
    /// Whether its bucket says all that it asks for: it has one plain value at most.
    fileprivate var isOfOneBucket: Bool {
        self.data.count <= 1 && self.data.allSatisfy(\.value.isPlain)
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
    package var buckets: Set<Int>? { self.buckets(isAlone: self.excepting.isEmpty) }

    /// Where a reader stands who wants the states that it selects, each time that one comes; nil: anywhere.
    package var readerBuckets: Set<Int>? { self.buckets(isAlone: false) }

    private func buckets(isAlone: Bool) -> Set<Int>? {
        guard !self.selecting.isEmpty || self.excepting.isEmpty else { return nil }
        return Set(self.selecting.flatMap { PatternBucket.buckets(of: $0, isAlone: isAlone) })
    }

    /// How many of its patterns may be matched with states that have one of its buckets and that it does not select: all
    /// of them if some exclude states, and else those that ask for several values or for parts.
    package var inexactPatterns: Int {
        guard !self.hasExceptions else { return self.count }
        return self.selecting.count { !$0.isOfOneBucket }
    }
}

extension Schema {
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

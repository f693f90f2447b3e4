package import StateMachineCore

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

    /// Whether every state of that name is selected, whatever it carries.
    package func containsAll(of state: String) -> Bool {
        self.contains { $0.selects(state) && ($0.isException || !$0.asksForValues) }
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
        !self.hasExceptions && self.names != nil && !self.selecting.contains(where: \.asksForValues)
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
///
/// A pattern with an order, and with no value that it asks for, stands at a bound. Each field of a state has two lines of
/// them, one for what is to be large and, with negative numbers, one for what is to be small; their complements are for
/// what is new.
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

    /// What a state reaches of the lines of its numbers, whatever was before.
    static func stretches(of name: String, _ data: JSONValue) -> [Stretch] {
        Self.numbers(name, data).map {
            Stretch(on: $0.line, after: -.infinity, upTo: $0.number.reach)
        }
    }

    /// What a change to a state reaches of the lines of its numbers; `before` as for the buckets.
    static func stretches(
        of name: String,
        _ data: JSONValue,
        after before: JSONValue?
    ) -> [Stretch] {
        let earlier = before.map { Self.numbers(name, $0) } ?? []
        return Self.stretches(of: name, data)
            + Self.numbers(name, data).map { line, number in
                let before = earlier.first { $0.line == line }?.number.reachSurely
                return Stretch(on: ~line, after: before ?? -.infinity, upTo: number.reach)
            }
    }

    /// The numbers of a state, each on its two lines.
    private static func numbers(
        _ name: String,
        _ data: JSONValue
    ) -> [(line: Int, number: NearestDouble)] {
        let name = Self.hasher(of: name)
        return (data.members ?? []).flatMap { member -> [(Int, NearestDouble)] in
            guard let number = NearestDouble(member.value) else { return [] }
            return [
                (Self.line(member.key, isUpper: false, name), number),
                (Self.line(member.key, isUpper: true, name), -number),
            ]
        }
    }

    /// The buckets of the states that a pattern covers, one for each name.
    ///
    /// - Parameters:
    ///   - pattern: the pattern.
    ///   - isAlone: whether nothing but the pattern says what comes to match.
    /// - Returns: the buckets at which a voter stands.
    static func buckets(of pattern: Pattern, isAlone: Bool) -> [Bucket] {
        let isNew = isAlone && pattern.isOfOneBucket
        return pattern.coveredNames.map { name in
            let name = Self.hasher(of: name)
            if let number = pattern.equalities.lazy.compactMap({ Self.bucket(of: $0, name) }).first
            {
                return Bucket(isNew ? ~number : number)
            }
            if let (comparison, bound) = pattern.bound {
                let line = Self.line(comparison.name, isUpper: comparison.comparator.isUpper, name)
                return Bucket(on: isNew ? ~line : line, at: bound)
            }
            let number = name.finalize()
            return Bucket(isNew ? ~number : number)
        }
    }

    /// The line of a field's bounds; the upper ones have a line of their own.
    private static func line(_ key: String, isUpper: Bool, _ name: Hasher) -> Int {
        var hasher = name
        key.hashSpelling(into: &hasher)
        hasher.combine(isUpper)
        return hasher.finalize()
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

/// A number among doubles: the nearest one, as which it is written shortest, and whether it is that number exactly.
///
/// Rounding keeps the order of what it leaves different, so that a bound that is rounded away from what does not reach it
/// finds all that does.
private struct NearestDouble {
    let double: Double
    /// Whether the number may be larger, or smaller, than what the double is written as.
    let mayBeLarger: Bool
    let mayBeSmaller: Bool

    /// Nil of what is no number.
    init?(_ value: JSONValue) {
        guard case .number(let text) = value, let double = Double(text) else { return nil }
        // Most are whole, and doubles have all of these.
        if let integer = Int64(text), integer.magnitude < 1 << 53 {
            self.init(double, mayBeLarger: false, mayBeSmaller: false)
            return
        }
        let most = Double.greatestFiniteMagnitude
        let near = max(-most, min(most, double))
        guard let exact = JSONDecimal(text), let shown = JSONDecimal("\(near)") else {
            // Its exponent is too long to be compared.
            self.init(double, mayBeLarger: true, mayBeSmaller: true)
            return
        }
        self.init(near, mayBeLarger: shown < exact, mayBeSmaller: exact < shown)
    }

    private init(_ double: Double, mayBeLarger: Bool, mayBeSmaller: Bool) {
        (self.double, self.mayBeLarger, self.mayBeSmaller) = (double, mayBeLarger, mayBeSmaller)
    }

    static prefix func - (number: Self) -> Self {
        Self(
            -number.double,
            mayBeLarger: number.mayBeSmaller,
            mayBeSmaller: number.mayBeLarger
        )
    }

    /// The last bound that the number may reach.
    var reach: Double { self.mayBeLarger ? self.double.nextUp : self.double }

    /// The last bound that it reaches for certain.
    var reachSurely: Double { self.mayBeSmaller ? self.double.nextDown : self.double }

    /// The bound of what is at least the number, or larger.
    func bound(isStrict: Bool) -> Double {
        self.mayBeLarger || isStrict && !self.mayBeSmaller ? self.double.nextUp : self.double
    }
}

extension Comparator {
    /// Whether what is smaller than a bound is wanted.
    fileprivate var isUpper: Bool { self == .less || self == .atMost }

    fileprivate var isStrict: Bool { self == .less || self == .greater }
}

extension Pattern {
    /// What it asks for as equal.
    fileprivate var equalities: [JSONMember] {
        self.data
            + self.comparisons.filter { $0.comparator == .equal && !$0.isOfInstants }
            .map { JSONMember($0.name, $0.operand) }
    }

    /// Its first comparison by order, and the bound at which it stands for that.
    fileprivate var bound: (Comparison, Double)? {
        for comparison in self.comparisons where comparison.comparator.isOrder {
            guard let number = NearestDouble(comparison.operand) else { continue }
            let (isUpper, isStrict) = (
                comparison.comparator.isUpper, comparison.comparator.isStrict
            )
            return (comparison, (isUpper ? -number : number).bound(isStrict: isStrict))
        }
        return nil
    }

    /// Whether its bucket says all that it asks for: it has one plain value at most, or one comparison but `!=`.
    fileprivate var isOfOneBucket: Bool {
        self.data.count + self.comparisons.count <= 1 && self.data.allSatisfy(\.value.isPlain)
            && self.comparisons.allSatisfy { $0.comparator != .unequal && !$0.isOfInstants }
    }
}

extension JSONValue {
    /// Whether it has no parts.
    fileprivate var isPlain: Bool { self.members == nil && self.elements == nil }
}

extension PatternList {
    /// Where the states are found that it selects; nil: anywhere.
    ///
    /// One that asks for several things is found by the first of its values, else by its first bound.
    package var buckets: Set<Bucket>? { self.buckets(isAlone: self.excepting.isEmpty) }

    /// Where a reader stands who wants the states that it selects, each time that one comes; nil: anywhere.
    package var readerBuckets: Set<Bucket>? { self.buckets(isAlone: false) }

    private func buckets(isAlone: Bool) -> Set<Bucket>? {
        guard !self.selecting.isEmpty || self.excepting.isEmpty else { return nil }
        return Set(self.selecting.flatMap { PatternBucket.buckets(of: $0, isAlone: isAlone) })
    }

    /// How many of its patterns may be matched with states that have one of its buckets and that it does not select: all
    /// of them if some exclude states, and else those that ask for several things, for parts, or for what is unequal.
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

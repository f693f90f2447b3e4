/// What clients write, by the names and types of a machine's states.
extension Schema {
    /// The pattern with its words interpreted by the fields' types.
    ///
    /// - Parameters:
    ///   - pattern: the pattern.
    ///   - isOld: whether it may date from when states and fields had other names and limits.
    /// - Returns: the pattern.
    /// - Throws: `unknown-state` or `bad-data` for a pattern that no state can ever match, as far
    ///   as is known: it may ask for a part of an object or an array, which cannot be decoded by
    ///   itself.
    package func resolved(_ pattern: Pattern, isOld: Bool = false) throws(WireError) -> Pattern {
        if let group = self.group(pattern.name) { return try group.resolved(pattern, isOld: isOld) }
        let once = isOld ? self.state(ofOldState: pattern.name) : nil
        let pattern = once.map { pattern.renamed(to: $0.name, with: $0.fields) } ?? pattern
        guard let found = self.states.first(where: { $0.name.isSpelled(pattern.name) }) else {
            throw self.unknown(
                pattern.name,
                self.groups.isEmpty ? "state" : "state or group",
                among: self.names + self.groups.map(\.name)
            )
        }
        let resolved = try pattern.typed(by: found.fields)
        for member in resolved.data { try self.check(member, in: found, isOld: isOld) }
        for comparison in resolved.comparisonTexts { try self.check(comparison, in: found) }
        return resolved.comparingInstants(of: found.fields).called(before: found.oldNames)
    }

    private func check(_ comparison: ComparisonText, in found: StateShape) throws(WireError) {
        // Of an unknown field it says what the same field with a value is told.
        if case .file = self.origin, found.field(comparison.name) == nil,
            let refusal = self.codec.refusal(of: JSONMember(comparison.name, .null), in: found)
        {
            throw refusal
        }
        let field = try found.known(comparison.name)
        if let objection = field.objection(to: comparison) { throw objection }
    }

    private func check(
        _ member: JSONMember,
        in found: StateShape,
        isOld: Bool
    ) throws(WireError) {
        // What a file declares has limits, which an old value need not have kept to.
        if case .file = self.origin, !isOld {
            if let refusal = self.codec.refusal(of: member, in: found) { throw refusal }
            return
        }
        guard try found.check(member).type.isScalar, member.value != .null else { return }
        try found.checkMarks(of: member)
        if case .program = self.origin, let refusal = self.codec.refusal(of: member, in: found) {
            throw refusal
        }
    }
}

extension Schema {
    /// The request, with patterns and words interpreted by the types of the machine's fields.
    ///
    /// The words of an `update` are left alone: which fields they are for is only known at its
    /// turn.
    ///
    /// Old changes may be requested by former names too.
    ///
    /// - Parameters:
    ///   - call: the request.
    ///   - isOld: whether it may date from when states and fields had other names.
    /// - Returns: the request.
    /// - Throws: `unknown-state` or `bad-data` for a pattern that no state can ever match.
    package func resolved(
        _ call: Request.Call,
        isOld: Bool = false
    ) throws(WireError) -> Request.Call {
        func read(_ list: PatternList, isOld: Bool = isOld) throws(WireError) -> PatternList {
            PatternList(
                try list.patterns.map { (pattern) throws(WireError) in
                    try self.resolved(pattern, isOld: isOld)
                }
            )
        }
        func read(given list: PatternList?, isOld: Bool = isOld) throws(WireError) -> PatternList? {
            guard let list else { return nil }
            return try read(list, isOld: isOld)
        }
        switch call {
        case .set(var set):
            set.condition.ifState = try read(given: set.condition.ifState)
            try set.interpretWords(
                by: self.states.first { $0.name.isSpelled(set.state.text) }
                    .map { ($0.name, $0.fields) }
            )
            return .set(set)
        case .send(var call):
            call.condition.ifState = try read(given: call.condition.ifState)
            try call.interpretWords(
                by: ([EventShape.endOfRun] + self.events).first { $0.name.isSpelled(call.event) }
                    .map { ($0.name, $0.fields) }
            )
            return .send(call)
        case .update(var call):
            call.condition.ifState = try read(given: call.condition.ifState)
            return .update(call)
        case .watch(var call):
            call.only = try read(given: call.only)
            return .watch(call)
        case .wait(var call):
            call.until = try read(call.until)
            call.fail = try read(call.fail)
            return .wait(call)
        case .hold(var call):
            call.before = try read(call.before)
            return .hold(call)
        case .guard(var call):
            call.before = try read(call.before)
            return .guard(call)
        case .history(var call):
            call.only = try read(given: call.only, isOld: true)
            return .history(call)
        case .get, .unwatch, .release, .vote, .reload, .describe, .stats, .hosts, .ping,
            .help:
            return call
        }
    }

    /// The same, for a request that was valid before; if it no longer is,
    /// its patterns are left as they were, and match nothing of what is gone.
    package func resolvedAgain(_ call: Request.Call) -> Request.Call {
        do {
            return try self.resolved(call, isOld: true)
        } catch {
            return call
        }
    }

    /// A request for a hold or a guard, written with the present names; nil if it has them already.
    package func rewritten(_ call: Request.Call) -> Request.Call? {
        switch call {
        case .hold(var call):
            guard let before = self.rewritten(call.before) else { return nil }
            call.before = before
            return .hold(call)
        case .guard(var call):
            guard let before = self.rewritten(call.before) else { return nil }
            call.before = before
            return .guard(call)
        default: return nil
        }
    }

    private func rewritten(_ list: PatternList) -> PatternList? {
        let present = self.resolvedAgain(list)
        let isSame = zip(list.patterns, present.patterns).allSatisfy { $0.hasNames(of: $1) }
        return isSame ? nil : PatternList(present.patterns.map(\.rewritten))
    }

    /// The patterns, each valid one as it is now, with the present names.
    package func resolvedAgain(_ list: PatternList) -> PatternList {
        PatternList(
            list.patterns.map { pattern in
                do {
                    return try self.resolved(pattern, isOld: true)
                } catch {
                    return pattern
                }
            }
        )
    }
}

extension ChangeCall {
    /// Makes data of the words, if there are any, by the types of the fields of what it names; nil: nothing has that name.
    fileprivate mutating func interpretWords(
        by named: (name: String, fields: [Field])?
    ) throws(WireError) {
        guard !self.words.isEmpty else { return }
        defer { self.words = [] }
        // An unknown state, and data that is no object, are refused where they are used.
        guard let named, let values = (self.data?.value ?? [:]).members else { return }
        self.data = GivenValue(
            .object(
                try FieldWords(values: values, words: self.words)
                    .members(typedBy: named.fields, of: named.name)
            )
        )
    }
}

/// The states that a machine can hold: their names, fields and successors.
package final class StateSchema: Sendable {
    /// The states of one name.
    package struct Case: Hashable, Sendable {
        package let name: String
        package let fields: [StateField]
        /// The states that may follow it with some data; of an enum's those that follow its examples.
        package let successors: [String]
        /// Its former names, none of which names a state now.
        let oldNames: [String]

        package init(
            _ name: String,
            fields: [StateField],
            successors: [String],
            oldNames: [String] = []
        ) {
            self.name = name
            self.fields = fields
            self.successors = successors
            self.oldNames = oldNames
        }

        package func field(_ name: String) -> StateField? {
            self.fields.first { $0.name.isSpelled(name) }
        }
    }

    /// An event that can be sent to the machine.
    package struct Event: Hashable, Sendable {
        package let name: String
        package let fields: [StateField]

        package init(_ name: String, fields: [StateField]) {
            self.name = name
            self.fields = fields
        }
    }

    /// Tells a declared machine how the command of a stay has ended: an event that every machine
    /// has, under a name that no file can declare.
    package static let endOfRun = Event(
        "run.ended",
        fields: [
            StateField("exit", type: .integer, isOptional: true),
            StateField("signal", type: .string, isOptional: true),
            StateField("timeout", type: .boolean, isOptional: true),
            StateField("interrupted", type: .boolean, isOptional: true),
        ]
    )

    package let cases: [Case]
    package let events: [Event]
    package let groups: [StateGroup]

    /// State, field, refusal.
    private let objection: @Sendable (String, JSONMember) -> WireError?
    /// State, field, refusal.
    private let evaluate: @Sendable (String, JSONMember) -> WireError?

    /// A schema of cases.
    ///
    /// - Parameters:
    ///   - cases: the cases.
    ///   - events: the events.
    ///   - groups: the groups.
    ///   - objection: what the field's type has against a value, beyond what the field says.
    ///   - evaluate: what a set would say of a value, beyond what the field says.
    package init(
        _ cases: [Case],
        events: [Event] = [],
        groups: [StateGroup] = [],
        objection: @escaping @Sendable (String, JSONMember) -> WireError? = { _, _ in nil },
        evaluate: @escaping @Sendable (String, JSONMember) -> WireError? = { _, _ in nil }
    ) {
        self.cases = cases
        self.events = events
        self.groups = groups
        self.objection = objection
        self.evaluate = evaluate
    }

    package var names: [String] { self.cases.map(\.name) }

    /// The case of that name.
    package func `case`(_ name: String) throws(WireError) -> Case {
        if let found = self.cases.first(where: { $0.name.isSpelled(name) }) { return found }
        if let group = self.group(name) {
            throw WireError(
                .unknownState,
                "\(name.quoted) is a group; name one of its states",
                known: group.members
            )
        }
        throw WireError(
            .unknownState,
            "there is no state \(name.quoted)"
                + self.remark(on: name, among: self.names),
            known: self.names
        )
    }

    /// What to say about an unknown name.
    private func remark(on name: String, among known: [String]) -> String {
        self.case(onceCalled: name).map { "; it is called \($0.name) now" }
            ?? NearestName.remark(on: name, among: known)
    }

    /// The case with that former name.
    private func `case`(onceCalled name: String) -> Case? {
        self.cases.first { $0.oldNames.contains { $0.isSpelled(name) } }
    }

    /// The case of that name, else the one with that former name.
    func `case`(ofOldState name: String) -> Case? {
        self.cases.first { $0.name.isSpelled(name) } ?? self.case(onceCalled: name)
    }

    /// The group of that name.
    private func group(_ name: String) -> StateGroup? {
        self.groups.first { $0.name.isSpelled(name) }
    }

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
        if let group = self.group(pattern.name) { return try group.resolved(pattern) }
        let once = isOld ? self.case(ofOldState: pattern.name) : nil
        let pattern = once.map { pattern.renamed(to: $0) } ?? pattern
        guard let found = self.cases.first(where: { $0.name.isSpelled(pattern.name) }) else {
            let known = self.names + self.groups.map(\.name)
            throw WireError(
                .unknownState,
                "there is no state \(self.groups.isEmpty ? "" : "or group ")\(pattern.name.quoted)"
                    + self.remark(on: pattern.name, among: known),
                known: known
            )
        }
        let resolved = try pattern.typed(by: found.fields)
        for member in resolved.data {
            if !isOld, let refusal = self.evaluate(found.name, member) { throw refusal }
            try self.check(member, in: found)
        }
        return resolved.called(before: found.oldNames)
    }

    private func check(_ member: JSONMember, in found: Case) throws(WireError) {
        guard try found.check(member).type.isScalar, member.value != .null else { return }
        try found.checkMarks(of: member)
        if let objection = self.objection(found.name, member) { throw objection }
    }
}

extension StateSchema.Case {
    /// The data of a state from an earlier version, under the present names; former fields are left
    /// out.
    func carried(_ data: [JSONMember]) -> [JSONMember] {
        self.fields.compactMap { field in
            ([field.name] + field.oldNames).lazy
                .compactMap { name in data.first { $0.key.isSpelled(name) } }
                .first.map { JSONMember(field.name, $0.value) }
        }
    }

    /// The field that `member` fills, if it can.
    @discardableResult
    func check(_ member: JSONMember) throws(WireError) -> StateField {
        guard let field = self.field(member.key) else {
            throw self.noField(member.key, known: self.fields.map(\.name))
        }
        if let objection = field.objection(to: member.value) {
            throw WireError(
                .badData,
                "\(member.key) of \(self.name) \(objection)",
                values: field.values
            )
        }
        return field
    }

    /// Refuses texts that would cost the fields' types too much time.
    func checkMarks(of member: JSONMember) throws(WireError) {
        guard member.key.hasTooManyMarks || member.value.hasTooManyMarks else { return }
        throw WireError(
            .badData,
            "\(member.key.excerpt()) of \(self.name) has more than \(RequestLimits.marks) "
                + "combining marks in a row"
        )
    }

    func noField(_ name: String, known: [String]) -> WireError {
        WireError(
            .badData,
            known.isEmpty
                ? "\(self.name) has no field \(name.quoted); it has none"
                : "\(self.name) has no field \(name.quoted); "
                    + "known: \(known.joined(separator: ", "))",
            known: known
        )
    }
}

extension StateSchema {
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
        // As most are.
        case .set(let set) where set.condition.ifState == nil && set.words.isEmpty: return call
        case .set(var set):
            set.condition.ifState = try read(given: set.condition.ifState)
            try set.interpretWords(
                by: self.cases.first { $0.name.isSpelled(set.state) }.map { ($0.name, $0.fields) }
            )
            return .set(set)
        case .send(var call):
            call.condition.ifState = try read(given: call.condition.ifState)
            try call.interpretWords(
                by: ([Self.endOfRun] + self.events).first { $0.name.isSpelled(call.event) }
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
        case .get, .unwatch, .release, .vote, .reload, .describe, .stats, .ping, .help:
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
        let isSame = zip(list.patterns, present.patterns).allSatisfy { $0.name == $1.name }
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
        by named: (name: String, fields: [StateField])?
    ) throws(WireError) {
        guard !self.words.isEmpty else { return }
        defer { self.words = [] }
        // An unknown state, and data that is no object, are refused where they are used.
        guard let named, let values = (self.data ?? [:]).members else { return }
        self.data = .object(
            try FieldWords(values: values, words: self.words)
                .members(typedBy: named.fields, of: named.name)
        )
    }
}

public import StateMachineCore

/// A program's states in their wire form: the schema of an enum's values.
///
/// `state` is the case's name, `data` an object with the associated values by label. One
/// without a label is `value`; further ones are `value2`, `value3` and so on.
///
/// Encoding and decoding use the `Codable` conformance that the compiler writes, and what there is to know of a case is
/// read by encoding the examples of it. Costly to create for that; create one and keep it.
public final class StateCoding<State: EnumState>: Sendable {
    package let schema: Schema

    /// Why no daemon starts with such states, one sentence each: a case that no example shows, a name or a
    /// successor that is no case, an old name of nothing. Empty, as a test of the program expects, if one can:
    ///
    /// ```swift
    /// #expect(StateCoding<Kiosk>().problems == [])
    /// ```
    public var problems: [String] { self.schema.problems }

    /// The values of an enum, in the form that its examples show.
    public init() { self.schema = Examples().schema }

    /// A state as a value of the machine; nil if it is not one, as when the daemon holds another
    /// machine.
    public func state(_ named: NamedState) -> State? {
        do {
            return try self.state(named.name, data: .object(named.data))
        } catch {
            // The caller asked whether it is one and has no use for the reason why not.
            return nil
        }
    }

    /// A state as it appears in a line or a request.
    public func named(_ state: State) -> NamedState {
        NamedState(state.name.rawValue, EnumCodec.data(of: state).members ?? [])
    }

    /// The state of that name with that data.
    ///
    /// - Throws: `unknown-state` or `bad-data`, with what would have been right.
    package func state(_ name: String, data: JSONValue?) throws(WireError) -> State {
        TypedValue.state(of: try self.schema.value(name, data: data))
    }
}

/// Writes and reads the values of an enum by its `Codable` conformance.
private struct EnumCodec<State: EnumState>: StateCodec {
    /// Of each state an example's data.
    let examples: [[JSONMember]]

    static func data(of state: State) -> JSONValue {
        do {
            return try JSONCase(JSONValue(encoding: state))?.data ?? .object([])
        } catch {
            // The conformance that the compiler writes cannot fail here: only the encoder could
            // throw, and ours does not.
            preconditionFailure("\(state) does not encode itself: \(error)")
        }
    }

    func data(of value: Value) -> JSONValue { Self.data(of: TypedValue<State>.state(of: value)) }

    func value(
        _ state: StateShape,
        _ data: [JSONMember],
        from source: DataSource
    ) throws(WireError) -> Value {
        let (rule, members): (JSONReadingRule, [JSONMember])
        switch source {
        case .request:
            (rule, members) = (.request, data)
            for member in data {
                try state.checkMarks(of: member)
                try state.check(member)
            }
        case .record:
            // Former fields are left out.
            let known = state.fields.compactMap { field in
                field.member(in: data).map { JSONMember(field.name, $0.value) }
            }
            (rule, members) = (.recorded, known)
        }
        let name = state.name
        do {
            return TypedValue(try JSONValue.decode(name, members, by: rule, as: State.self))
        } catch let error as DecodingError {
            throw WireError(.badData, error.sentence(about: name), known: state.fields.map(\.name))
        } catch {
            throw WireError(.badData, "data of \(name) was refused: \("\(error)".excerpt(128))")
        }
    }

    /// What the field's type has against a value, beside an example's others.
    func refusal(of member: JSONMember, in state: StateShape) -> WireError? {
        let name = state.name
        let others = self.examples[state.number].filter { !$0.key.isSpelled(member.key) }
        do {
            _ = try JSONValue.decode(name, others + [member], by: .request, as: State.self)
            return nil
        } catch let error as DecodingError {
            return WireError(.badData, error.sentence(about: name))
        } catch {
            let sentence = "\(member.key) of \(name) was refused: \("\(error)".excerpt(128))"
            return WireError(.badData, sentence)
        }
    }

    func schema(of value: Value) -> Schema? { nil }
}

extension StateCoding {
    /// An enum's cases, as its examples show them.
    fileprivate struct Examples {
        private struct Case {
            let name: String
            var states: [State] = []
            var fields: [CaseReader.Field] = []

            /// Notes an example's field, if no other example shows more of it.
            mutating func add(_ field: CaseReader.Field) {
                guard let index = self.fields.firstIndex(where: { $0.key == field.key }) else {
                    return self.fields.append(field)
                }
                if self.fields[index].value == nil { self.fields[index] = field }
            }

            /// Their data; nil if they cannot be read again.
            var data: [JSONMember]? {
                self.states.first.flatMap { try? JSONCase(JSONValue(encoding: $0))?.data.members }
            }
        }

        private var cases: [Case] = []
        /// What is wrong with names, one sentence each: then a state may not know its own name.
        private var misnamed: [String] = []

        init() {
            for state in State.examples {
                do {
                    let reader = try CaseReader(state)
                    guard let name = reader.name else { throw Unnamed() }
                    let index = self.cases.firstIndex { $0.name == name } ?? self.cases.count
                    if index == self.cases.count { self.cases.append(Case(name: name)) }
                    self.cases[index].states.append(state)
                    for field in reader.fields { self.cases[index].add(field) }
                } catch {
                    self.misnamed.append(
                        "an example of \(State.self) does not encode which case it is: \(error)"
                    )
                }
            }
            if State.examples.isEmpty { self.misnamed.append("\(State.self) has no examples") }
            self.misnamed += self.unshown.isEmpty ? self.unlisted : self.unshown
        }

        private struct Unnamed: Error, CustomStringConvertible {
            var description: String { "it is encoded without a key" }
        }

        private var names: [String] { self.cases.map(\.name) }

        var schema: Schema {
            let was = State.was
            let states = self.cases.enumerated().map { number, found in
                let following = Set(self.successors(of: found))
                let areAll = following.contains(Value.any)
                return StateShape(
                    number,
                    found.name,
                    fields: found.fields.map { field in
                        let name = Field.name(ofKey: field.key)
                        return Field(field, oldNames: was["\(found.name).\(name)"] ?? [])
                    },
                    successors: areAll ? self.names : self.names.filter(following.contains),
                    oldNames: was[found.name] ?? []
                )
            }
            return Schema(
                states,
                codec: EnumCodec<State>(examples: self.cases.map { $0.data ?? [] }),
                initial: TypedValue(State.initial),
                lost: { _ in State.lost.map { TypedValue($0) } },
                problems: self.problems
            )
        }

        /// The names of those that may follow its examples; ``Value/any`` for every one.
        private func successors(of found: Case) -> [String] {
            guard self.misnamed.isEmpty else { return [] }
            return found.states.flatMap { $0.successors.map(\.rawValue).sorted() }
        }
    }
}

/// What keeps a machine from having such states.
extension StateCoding.Examples {
    var problems: [String] {
        // The others may be consequences of these.
        self.misnamed.isEmpty
            ? self.unread + self.untyped + self.outdated + self.unknownSuccessors : self.misnamed
    }

    /// Cases that no example shows; unknown in a program built with `-disable-reflection-metadata`.
    private var unshown: [String] {
        let states = self.cases.flatMap(\.states)
        let shown = Set(states.compactMap { nameOfCase($0).map { String(cString: $0) } })
        return (TypeMetadata.namesOfCases(of: State.self) ?? []).filter { !shown.contains($0) }
            .map { "\(State.self) has a case \($0.quoted) that its examples do not show" }
    }

    private var unlisted: [String] {
        let all = (State.Name.self as? any CaseIterable.Type)?.everyCase ?? []
        let listed = all.compactMap { ($0 as? State.Name)?.rawValue }
        let unknown = self.names.filter { State.Name(rawValue: $0) == nil }
        return listed.filter { !self.names.contains($0) }.map { name in
            "\(State.Name.self) of \(State.self) lists \(name.quoted), but no example is encoded under that name"
                + NearestName.remark(on: name, among: unknown)
        }
            + unknown.map { name in
                "\(State.self) has a case \(name.quoted) that \(State.Name.self) does not list"
            }
    }

    /// Examples that are not read again as what they are: what is kept and handed over would be.
    ///
    /// They are compared as they are written, which a `Date` or a `Double` may be less exactly than it is.
    private var unread: [String] {
        self.cases.flatMap { found in
            found.states.compactMap { state in
                // Most are as they should be: a description is made of what is not.
                var example: String { "the example \("\(state)".excerpt()) of \(State.self)" }
                do {
                    let written = try JSONValue(encoding: state)
                    let data = JSONCase(written)?.data.members ?? []
                    let read = try JSONValue.decode(found.name, data, by: .request, as: State.self)
                    return try JSONValue(encoding: read) == written
                        ? nil : "\(example) is another state when it is read from what it encodes"
                } catch let error as DecodingError {
                    return "\(example) cannot be read from what it encodes: "
                        + error.sentence(about: found.name)
                } catch {
                    return "\(example) cannot be read from what it encodes: \(error)"
                }
            }
        }
    }

    private var untyped: [String] {
        self.cases.flatMap { found in
            found.fields.filter { JSONFieldType(of: $0) == nil }.map { field in
                "no example of \(State.self) has a value of \(Field.name(ofKey: field.key).quoted) in \(found.name.quoted), so its type is unknown; add one that has"
            }
        }
    }

    private var outdated: [String] {
        let known = self.cases.flatMap { found in
            [found.name] + found.fields.map { "\(found.name).\(Field.name(ofKey: $0.key))" }
        }
        let was = State.was.sorted { $0.key < $1.key }
        return was.map(\.key).filter { !known.contains($0) }.map { name in
            "\"was\" of \(State.self) names \(name.quoted), which it does not have"
                + NearestName.remark(on: name, among: known)
        }
            + was.filter { !$0.key.contains(".") }.flatMap { key, old in
                old.filter(self.names.contains).map { old in
                    "\"was\" of \(State.self) says that \(key.quoted) was called \(old.quoted), which is still a state"
                }
            }
    }

    private var unknownSuccessors: [String] {
        var told = Set(self.names + [Value.any])
        return self.cases.flatMap { self.successors(of: $0) }
            .filter { told.insert($0).inserted }
            .map { name in
                "\"successors\" of \(State.self) names \(name.quoted), which is not one of its cases"
                    + NearestName.remark(on: name, among: self.names)
            }
    }
}

extension Field {
    fileprivate init(_ field: CaseReader.Field, oldNames: [String]) {
        self.init(
            // A field without a type keeps the machine from starting.
            readAs: JSONFieldType(of: field) ?? .object,
            Field.name(ofKey: field.key),
            values: field.values,
            isOptional: field.isOptional,
            oldNames: oldNames
        )
    }
}

extension JSONFieldType {
    /// The type of a field's values; nil if no example has one.
    fileprivate init?(of field: CaseReader.Field) {
        if let type = JSONFieldType(field.type) {
            self = type
        } else {
            let example = field.values.first ?? field.value.flatMap { try? JSONValue(encoding: $0) }
            guard let type = example.flatMap({ JSONFieldType($0) }) else { return nil }
            self = type
        }
    }
}

extension CaseReader.Field {
    /// All values of its type, if it lists them.
    fileprivate var values: [JSONValue] {
        if self.type == Bool.self { return [.bool(false), .bool(true)] }
        let all = (self.type as? any CaseIterable.Type)?.everyCase ?? []
        // What cannot be encoded is not on the list.
        return all.compactMap { ($0 as? any Encodable).flatMap { try? JSONValue(encoding: $0) } }
    }
}

extension CaseIterable {
    fileprivate static var everyCase: [Any] { Array(self.allCases) }
}

import StateMachineProtocol

/// The JSON Schema of a machine's file, for editors.
///
/// It says which keys there are and what their values look like; what names stand for, and whether fields have a
/// source, only reading the file can tell.
public enum DeclarationSchema {
    /// The schema as JSON text, draft 7.
    public static var text: String { self.value.description }

    static var value: JSONValue {
        var members = [
            JSONMember("$schema", .string("http://json-schema.org/draft-07/schema#")),
            JSONMember("title", .string("A machine for statemachine")),
        ]
        members += self.table(.top).members ?? []
        members.append(JSONMember("definitions", self.definitions))
        return .object(members)
    }

    private static let definitions = JSONValue.object([
        JSONMember(
            "name",
            Self.pattern(
                "^(?!(?:\(NameRule.reserved.joined(separator: "|")))$)[A-Za-z][A-Za-z0-9_-]{0,63}$"
            )
        ),
        JSONMember("scalar", Self.type("string", "number", "boolean")),
        JSONMember("time", Self.pattern("^([0-9]+(w|d|h|min|s|ms))+$")),
        JSONMember(
            "target",
            Self.any([Self.type("string"), Self.table(.target)])
        ),
        JSONMember(
            "words",
            Self.any([Self.type("string"), Self.list(Self.reference("scalar"))])
        ),
    ])

    private static func table(_ table: KeyTable) -> JSONValue {
        let needed = table.keys.filter(\.isNeeded).map { JSONValue.string($0.name) }
        var members = [
            JSONMember("type", .string("object")),
            JSONMember("additionalProperties", .bool(false)),
            JSONMember(
                "properties",
                .object(
                    table.keys.map { key in
                        let about = JSONMember("description", .string(key.about))
                        // Draft 7 ignores what stands beside a reference.
                        let form: [JSONMember]
                        if let members = self.form(key.form).members,
                            members.first?.key != "$ref"
                        {
                            form = members
                        } else {
                            form = [JSONMember("allOf", .array([self.form(key.form)]))]
                        }
                        return JSONMember(key.name, .object([about] + form))
                    }
                )
            ),
        ]
        if !needed.isEmpty { members.append(JSONMember("required", .array(needed))) }
        return .object(members)
    }

    private static func form(_ form: KeyForm) -> JSONValue {
        switch form {
        case .name: self.reference("name")
        case .text: self.reference("scalar")
        case .path: self.pattern("^/")
        case .optionalPath: self.pattern("^-?/")
        case .boolean: self.type("boolean")
        case .integer(let range):
            .object([
                JSONMember("type", .string("integer")),
                JSONMember("minimum", .number("\(range.lowerBound)")),
                JSONMember("maximum", .number("\(range.upperBound)")),
            ])
        case .factor:
            .object([
                JSONMember("type", .string("number")), JSONMember("minimum", .number("1")),
            ])
        case .time: self.reference("time")
        case .value: .object([])
        case .values: self.list(self.reference("scalar"))
        case .fieldType: self.words(["boolean", "integer", "number", "string", "array", "object"])
        case .target: self.reference("target")
        case .wordOrTarget(let words): self.any([self.words(words), self.reference("target")])
        case .names: self.list(self.reference("name"))
        case .namesOrOne: self.any([self.list(self.reference("name")), self.reference("name")])
        case .namesOrAny: self.any([self.list(self.reference("name")), self.words(["any"])])
        case .words: self.reference("words")
        case .command: self.any([self.reference("words"), self.table(.run)])
        case .hooks:
            self.any([
                self.type("string"), self.table(.hook),
                self.list(self.any([self.reference("words"), self.table(.hook)])),
            ])
        case .table(let table): self.table(table)
        case .field(let table):
            self.any([self.form(.fieldType), self.table(table)])
        case .map(let form): self.map("^[A-Za-z][A-Za-z0-9_-]{0,63}$", form, orNothing: true)
        case .exitCodes: self.map("^[0-9]{1,3}$", .target, orNothing: false)
        case .oneTime: self.map("^[0-9]", .target, orNothing: false)
        case .unitProperties:
            .object([
                JSONMember("type", .string("object")),
                JSONMember("propertyNames", self.pattern("^[A-Za-z0-9]+$")),
                JSONMember(
                    "additionalProperties",
                    self.any([self.reference("scalar"), self.list(self.reference("scalar"))])
                ),
            ])
        }
    }

    /// A map whose keys are names that the file defines.
    private static func map(_ keys: String, _ form: KeyForm, orNothing: Bool) -> JSONValue {
        let types =
            orNothing ? JSONValue.array([.string("object"), .string("null")]) : .string("object")
        var value = self.form(form)
        // A state, a group and an event may be empty.
        if case .table = form { value = self.any([value, self.type("null")]) }
        return .object([
            JSONMember("type", types),
            JSONMember("patternProperties", .object([JSONMember(keys, value)])),
            JSONMember("additionalProperties", .bool(false)),
        ])
    }

    private static func reference(_ name: String) -> JSONValue {
        .object([JSONMember("$ref", .string("#/definitions/\(name)"))])
    }

    private static func type(_ names: String...) -> JSONValue {
        let types = names.map { JSONValue.string($0) }
        return .object([JSONMember("type", types.count == 1 ? types[0] : .array(types))])
    }

    private static func pattern(_ pattern: String) -> JSONValue {
        .object([
            JSONMember("type", .string("string")), JSONMember("pattern", .string(pattern)),
        ])
    }

    private static func words(_ words: [String]) -> JSONValue {
        .object([JSONMember("enum", .array(words.map { .string($0) }))])
    }

    private static func list(_ element: JSONValue) -> JSONValue {
        .object([JSONMember("type", .string("array")), JSONMember("items", element)])
    }

    private static func any(_ forms: [JSONValue]) -> JSONValue {
        .object([JSONMember("anyOf", .array(forms))])
    }
}

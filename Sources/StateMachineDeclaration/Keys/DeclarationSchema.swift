import StateMachineProtocol

/// The JSON Schema of a machine's file, for editors.
///
/// It says which keys there are and what their values look like; what names stand for, and whether fields have a
/// source, only reading the file can tell.
public enum DeclarationSchema {
    /// The schema as JSON text, draft 7.
    public static var text: String { self.value.description }

    static var value: JSONValue {
        let heading = [
            JSONMember("$schema", "http://json-schema.org/draft-07/schema#"),
            JSONMember("title", "A machine for statemachine"),
        ]
        let table = self.table(.top).members ?? []
        return .object(heading + table + [JSONMember("definitions", self.definitions)])
    }

    private static let definitions: JSONValue = [
        "name": pattern(
            "^(?!(?:\(NameRule.reserved.joined(separator: "|")))$)[A-Za-z][A-Za-z0-9_-]{0,63}$"
        ),
        "scalar": type("string", "number", "boolean"),
        "time": pattern("^([0-9]+(w|d|h|min|m|s|ms))+$"),
        "target": any([type("string"), table(.target)]),
        "case": table(.aCase),
        "words": any([type("string"), list(reference("scalar"))]),
    ]

    private static func table(_ table: KeyTable) -> JSONValue {
        let properties = table.keys.map { key in
            let form = self.form(key.form).members ?? []
            // Draft 7 ignores what stands beside a reference.
            let isReference = form.first?.key == "$ref"
            return JSONMember(
                key.name,
                .object(
                    [JSONMember("description", .string(key.about))]
                        + (isReference ? [JSONMember("allOf", [.object(form)])] : form)
                )
            )
        }
        let needed = table.keys.filter(\.isNeeded).map { JSONValue.string($0.name) }
        let members: JSONValue = [
            "type": "object", "additionalProperties": false, "properties": .object(properties),
        ]
        return .object(
            (members.members ?? [])
                + (needed.isEmpty ? [] : [JSONMember("required", .array(needed))])
        )
    }

    private static func form(_ form: KeyForm) -> JSONValue {
        switch form {
        case .name: self.reference("name")
        case .text: self.reference("scalar")
        case .path: self.pattern("^/")
        case .optionalPath: self.pattern("^-?/")
        case .boolean: self.type("boolean")
        case .word(let words): self.words(words)
        case .integer(let range):
            [
                "type": "integer", "minimum": .integer(range.lowerBound),
                "maximum": .integer(range.upperBound),
            ]
        case .factor: ["type": "number", "minimum": 1]
        case .time: self.reference("time")
        case .value: [:]
        case .values: self.list(self.reference("scalar"))
        case .fieldType: self.words(JSONFieldType.allCases.map(\.rawValue))
        case .target: self.reference("target")
        case .cases(let place): self.cases(place.words)
        case .conditions: self.any([self.reference("scalar"), self.list(self.reference("scalar"))])
        case .names: self.list(self.reference("name"))
        case .namesOrOne: self.any([self.list(self.reference("name")), self.reference("name")])
        case .namesOrAny: self.any([self.list(self.reference("name")), self.words(["any"])])
        case .accounts: self.list(self.reference("scalar"))
        case .words: self.reference("words")
        case .command: self.any([self.reference("words"), self.table(.run)])
        case .hooks:
            self.any([
                self.type("string"), self.table(.hook),
                self.list(self.any([self.reference("words"), self.table(.hook)])),
            ])
        case .table(let table): self.table(table)
        case .field(let table): self.any([self.form(.fieldType), self.table(table)])
        case .map(let form):
            self.map("^[A-Za-z][A-Za-z0-9_-]{0,63}$", form, self.type("object", "null"))
        case .reactions:
            [
                "type": "object",
                "patternProperties": [
                    "^[A-Za-z][A-Za-z0-9_-]{0,63}$": self.cases(CasePlace.when.words),
                    "^[A-Za-z][A-Za-z0-9_-]{0,63}[ \\t]+is[ \\t]": self.cases(CasePlace.link.words),
                ],
                "additionalProperties": false,
            ]
        case .link: self.any([self.type("string"), self.table(.link)])
        case .event(let table):
            // "by" is a field unless it is a list.
            self.map(
                "^(?!by$)[A-Za-z][A-Za-z0-9_-]{0,63}$",
                .field(table),
                self.type("object", "null"),
                [JSONMember("^by$", self.any([self.form(.accounts), self.form(.field(table))]))]
            )
        case .exitCodes: self.map("^[0-9]{1,3}$", .cases(.end), self.type("object"))
        case .times:
            self.map("^([0-9]|\\{[A-Za-z][A-Za-z0-9_-]*\\}$)", .cases(.after), self.type("object"))
        case .unitProperties:
            [
                "type": "object", "propertyNames": self.pattern("^[A-Za-z0-9]+$"),
                "additionalProperties": self.any([
                    self.reference("scalar"), self.list(self.reference("scalar")),
                ]),
            ]
        }
    }

    /// One of those words, a target, a case, or a list of these.
    private static func cases(_ words: [String]) -> JSONValue {
        let one = self.any([self.words(words), self.reference("target"), self.reference("case")])
        return self.any([one, self.list(one)])
    }

    /// A map whose keys are names that the file defines; `others` are patterns of further keys.
    private static func map(
        _ keys: String,
        _ form: KeyForm,
        _ type: JSONValue,
        _ others: [JSONMember] = []
    ) -> JSONValue {
        var value = self.form(form)
        // A state, a group and an event may be empty.
        if case .table = form { value = self.any([value, self.type("null")]) }
        return [
            "type": type["type"] ?? .null,
            "patternProperties": .object([JSONMember(keys, value)] + others),
            "additionalProperties": false,
        ]
    }

    private static func reference(_ name: String) -> JSONValue {
        ["$ref": .string("#/definitions/\(name)")]
    }

    private static func type(_ names: String...) -> JSONValue {
        let types = names.map { JSONValue.string($0) }
        return ["type": types.count == 1 ? types[0] : .array(types)]
    }

    private static func pattern(_ pattern: String) -> JSONValue {
        ["type": "string", "pattern": .string(pattern)]
    }

    private static func words(_ words: [String]) -> JSONValue {
        ["enum": .array(words.map { .string($0) })]
    }

    private static func list(_ element: JSONValue) -> JSONValue {
        ["type": "array", "items": element]
    }

    private static func any(_ forms: [JSONValue]) -> JSONValue { ["anyOf": .array(forms)] }
}

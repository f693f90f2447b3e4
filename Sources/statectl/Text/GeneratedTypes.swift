import StateMachineClient
import StateMachineDeclaration

/// A machine's states and events with their fields, for code that is generated.
struct MachineTypes {
    /// What a field may be.
    struct Field {
        let name: String
        /// As `describe` calls it: `boolean`, `integer`, `number`, `string`, `array` or `object`.
        let type: String
        /// All its possible values, if they are listed; else empty.
        let values: [JSONValue]
        let isOptional: Bool
        /// Of an event: what it is where it is not given.
        let fallback: JSONValue?
    }

    /// A state or an event.
    struct Shape {
        let name: String
        let fields: [Field]
    }

    /// What the machine is called, if its file says.
    let machine: String?
    let states: [Shape]
    let events: [Shape]

    /// All of them, each with the name of its type.
    var named: (states: [(String, Shape)], events: [(String, Shape)]) {
        var names = GeneratedNames()
        let states = self.states.map { (names.type($0.name, "State"), $0) }
        return (states, self.events.map { (names.type($0.name, "Event"), $0) })
    }

    init(_ declaration: Declaration) {
        self.machine = declaration.machine
        // A state that is shown has all its fields, whatever their defaults.
        self.states = declaration.states.map { state in
            Shape(name: state.name, fields: state.fields.map { Field($0, hasFallback: false) })
        }
        self.events = declaration.events.map { event in
            Shape(name: event.name, fields: event.fields.map { Field($0, hasFallback: true) })
        }
    }

    /// - Parameter description: the answer to `describe`.
    init(description: JSONValue) {
        self.machine = description["machine"]?.string
        self.states = (description["states"]?.elements ?? []).compactMap { row in
            row["state"]?.string.map { Shape(name: $0, fields: Self.fields(row["fields"])) }
        }
        self.events = (description["events"]?.members ?? []).map { member in
            Shape(name: member.key, fields: Self.fields(member.value))
        }
    }

    private static func fields(_ fields: JSONValue?) -> [Field] {
        (fields?.members ?? []).map { member in
            Field(
                name: member.key,
                type: member.value["type"]?.string ?? "",
                values: member.value["values"]?.elements ?? [],
                isOptional: member.value["optional"]?.bool == true,
                fallback: member.value["default"]
            )
        }
    }
}

extension MachineTypes.Field {
    fileprivate init(_ field: DeclaredField, hasFallback: Bool) {
        self.init(
            name: field.name,
            type: field.type.rawValue,
            values: field.values,
            isOptional: field.isOptional,
            fallback: hasFallback ? field.fallback : nil
        )
    }
}

/// Names of generated code: each only once.
struct GeneratedNames {
    private var taken: Set<String>

    init(reserved: Set<String> = []) { self.taken = reserved }

    /// The name, with the first number from 2 on that makes it another than those before.
    mutating func unique(_ name: String) -> String {
        var (own, number) = (name, 2)
        while !self.taken.insert(own).inserted {
            own = "\(name)\(number)"
            number += 1
        }
        return own
    }

    /// The words of a wire's name, each with a capital letter, and what it is: `PlayingState`.
    mutating func type(_ name: String, _ suffix: String) -> String {
        let words = name.utf8.split { !$0.isLetterOrDigit }
            .map { String(decoding: $0, as: UTF8.self) }
        let joined = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined() + suffix
        return self.unique(joined.utf8.first?.isDigit == true ? "_" + joined : joined)
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// Of ASCII.
    var isLetterOrDigit: Bool {
        self.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }
}

/// A machine's types in Python, for 3.9 and later.
enum PythonText {
    /// What no field can be called: the language's keywords, the classes' own members, and the names that annotations use.
    private static let reserved: Set<String> = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield",
        "NAME", "to_data", "from_data", "self", "cls", "data",
        "Any", "ClassVar", "Literal", "Mapping", "Optional", "Union",
        "bool", "int", "float", "str", "list", "dict", "classmethod", "dataclasses",
    ]

    /// The module, without the last newline.
    static func text(_ types: MachineTypes) -> String {
        let (states, events) = types.named
        let machine = types.machine.map { " of the machine \($0.quoted)" } ?? ""
        var lines = [
            "# The types\(machine), made by `statectl codegen python`; make them again rather than edit them.",
            "from __future__ import annotations", "",
            "import dataclasses",
            "from collections.abc import Mapping",
            "from typing import Any, ClassVar, Literal, Optional, Union",
        ]
        for (name, shape) in states + events { lines += ["", ""] + self.type(name, shape) }
        lines += ["", ""] + self.union("States", states.map(\.0))
        lines += self.union("Events", events.map(\.0))
        lines += [
            "", "",
            "_STATES: dict[str, Any] = {",
        ]
        lines += states.map { name, shape in "    \(shape.name.quoted): \(name)," }
        lines += [
            "}", "", "",
            "def parse_state(name: str, data: Mapping[str, Any]) -> States:",
            "    \"\"\"The state of that name, as `get` and `watch` have it. Raises KeyError if there is none.\"\"\"",
            "    state: States = _STATES[name].from_data(data)",
            "    return state",
        ]
        return lines.joined(separator: "\n")
    }

    private static func type(_ name: String, _ shape: MachineTypes.Shape) -> [String] {
        var names = GeneratedNames(reserved: self.reserved)
        let fields = shape.fields.map { (self.name($0.name, &names), $0) }
        // Those that have to be given come first, as the language wants it.
        let sorted =
            fields.filter { self.value($0.1) == nil } + fields.filter { self.value($0.1) != nil }
        var lines = [
            "@dataclasses.dataclass(frozen=True)", "class \(name):",
            "    NAME: ClassVar[Literal[\(shape.name.quoted)]] = \(shape.name.quoted)",
        ]
        lines += sorted.map { own, field in
            let value = self.value(field).map { " = \($0)" } ?? ""
            return "    \(own): \(self.annotation(field))\(value)"
        }
        lines += ["", "    def to_data(self) -> dict[str, Any]:"]
        let needed = fields.filter { !$0.1.isOptional }
        let members = needed.map { "\($0.1.name.quoted): self.\($0.0)" }
        if needed.count == fields.count {
            lines.append("        return {\(members.joined(separator: ", "))}")
        } else {
            lines.append(
                "        data: dict[str, Any] = {\(members.joined(separator: ", "))}"
            )
            for (own, field) in fields where field.isOptional {
                lines.append("        if self.\(own) is not None:")
                lines.append("            data[\(field.name.quoted)] = self.\(own)")
            }
            lines.append("        return data")
        }
        let arguments = sorted.map { own, field in
            let key = field.name.quoted
            // One with a default, too, is there in what is shown.
            return field.isOptional ? "\(own)=data.get(\(key))" : "\(own)=data[\(key)]"
        }
        lines += [
            "", "    @classmethod",
            "    def from_data(cls, data: Mapping[str, Any]) -> \(name):",
            "        return cls(\(arguments.joined(separator: ", ")))",
        ]
        return lines
    }

    private static func union(_ name: String, _ types: [String]) -> [String] {
        guard !types.isEmpty else { return ["\(name) = None"] }
        return ["\(name) = Union["] + types.map { "    \($0)," } + ["]"]
    }

    /// What stands for a field where it is not given; nil where it has to be.
    private static func value(_ field: MachineTypes.Field) -> String? {
        if field.isOptional { return "None" }
        return field.fallback.flatMap { self.literal($0) }
    }

    private static func annotation(_ field: MachineTypes.Field) -> String {
        let values = field.values.compactMap { self.literal($0) }
        let isListed = !values.isEmpty && values.count == field.values.count
        let type =
            switch field.type {
            case "boolean": isListed ? "Literal[\(values.joined(separator: ", "))]" : "bool"
            case "integer": isListed ? "Literal[\(values.joined(separator: ", "))]" : "int"
            // A literal type has no fractions.
            case "number": "float"
            case "string": isListed ? "Literal[\(values.joined(separator: ", "))]" : "str"
            case "array": "list[Any]"
            case "object": "dict[str, Any]"
            default: "Any"
            }
        return field.isOptional ? "Optional[\(type)]" : type
    }

    /// A value that can be written in place; nil for one that would be shared.
    private static func literal(_ value: JSONValue) -> String? {
        switch value {
        case .null: "None"
        case .bool(let bool): bool ? "True" : "False"
        case .number(let text): text
        case .string(let text): text.quoted
        case .array, .object: nil
        }
    }

    /// The field's name as the language can have it.
    private static func name(_ name: String, _ names: inout GeneratedNames) -> String {
        let letters = name.utf8.map { $0.isLetterOrDigit ? $0 : UInt8(ascii: "_") }
        var own = String(decoding: letters, as: UTF8.self)
        // Two in front would be mangled, and a digit is none of a name's beginnings.
        own = String(own.drop { $0 == "_" })
        if own.isEmpty || own.utf8.first?.isDigit == true || name.hasPrefix("_") { own = "_" + own }
        return names.unique(self.reserved.contains(own) ? own + "_" : own)
    }
}

extension String {
    /// In quotes, as JSON, Python and TypeScript have a text.
    var quoted: String { JSONValue.string(self).description }
}

/// A machine's types in TypeScript.
enum TypeScriptText {
    /// The module, without the last newline.
    static func text(_ types: MachineTypes) -> String {
        let (states, events) = types.named
        let machine = types.machine.map { " of the machine \($0.quoted)" } ?? ""
        var lines = [
            "// The types\(machine), made by `statectl codegen typescript`; make them again rather than edit them."
        ]
        for (name, shape) in states { lines += [""] + self.type(name, "state", shape) }
        for (name, shape) in events { lines += [""] + self.type(name, "event", shape) }
        lines += ["", self.union("States", states.map(\.0)), self.union("Events", events.map(\.0))]
        return lines.joined(separator: "\n")
    }

    private static func type(
        _ name: String,
        _ key: String,
        _ shape: MachineTypes.Shape
    )
        -> [String]
    {
        var lines = [
            "export interface \(name) {", "    readonly \(key): \(shape.name.quoted);",
        ]
        if shape.fields.isEmpty {
            lines.append("    readonly data: Record<string, never>;")
        } else {
            lines.append("    readonly data: {")
            lines += shape.fields.map { field in
                let mark = field.isOptional || field.fallback != nil ? "?" : ""
                return "        readonly \(field.name.quoted)\(mark): \(self.annotation(field));"
            }
            lines.append("    };")
        }
        return lines + ["}"]
    }

    private static func union(_ name: String, _ types: [String]) -> String {
        "export type \(name) = \(types.isEmpty ? "never" : types.joined(separator: " | "));"
    }

    private static func annotation(_ field: MachineTypes.Field) -> String {
        if !field.values.isEmpty {
            return field.values.map(\.description).joined(separator: " | ")
        }
        return switch field.type {
        case "boolean": "boolean"
        case "integer", "number": "number"
        case "string": "string"
        case "array": "readonly unknown[]"
        case "object": "Readonly<Record<string, unknown>>"
        default: "unknown"
        }
    }
}

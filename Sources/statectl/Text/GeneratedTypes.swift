import StateMachineClient

/// A machine's states and events with their fields, for code that is generated.
struct MachineTypes {
    /// A field, as `describe` has it.
    struct Field {
        let name: String
        let json: JSONValue
        /// A state that is shown has all its fields, whatever their defaults.
        let isOfEvent: Bool

        /// `boolean`, `integer`, `number`, `string`, `array` or `object`.
        var type: String { self.json["type"]?.string ?? "" }
        /// All its possible values, if they are listed; else empty.
        var values: [JSONValue] { self.json["values"]?.elements ?? [] }
        var isOptional: Bool { self.json["optional"]?.bool == true }
        /// What it is where it is not given.
        var fallback: JSONValue? { self.isOfEvent ? self.json["default"] : nil }
    }

    /// A state or an event, and the name of its type.
    struct Shape {
        let name: String
        let type: String
        let fields: [Field]
    }

    /// What the machine is called, if its file says.
    let machine: String?
    let states: [Shape]
    let events: [Shape]

    /// - Parameter description: the answer to `describe`.
    init(description: JSONValue) {
        var names = GeneratedNames()
        func shape(_ name: String, _ fields: JSONValue?, isEvent: Bool) -> Shape {
            let fields = (fields?.members ?? []).map {
                Field(name: $0.key, json: $0.value, isOfEvent: isEvent)
            }
            let type = names.type(name, isEvent ? "Event" : "State")
            return Shape(name: name, type: type, fields: fields)
        }
        self.machine = description["machine"]?.string
        self.states = (description["states"]?.elements ?? []).compactMap { row in
            row["state"]?.string.map { shape($0, row["fields"], isEvent: false) }
        }
        self.events = (description["events"]?.members ?? []).map { member in
            shape(member.key, member.value, isEvent: true)
        }
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
        let machine = types.machine.map { " of the machine \($0.quoted)" } ?? ""
        let classes = (types.states + types.events).map { "\n\n\n" + self.type($0) }.joined()
        let states = types.states.map { "\n    \($0.name.quoted): \($0.type)," }.joined()
        return """
            # The types\(machine), made by `statectl codegen python`; make them again rather than edit them.
            from __future__ import annotations

            import dataclasses
            from collections.abc import Mapping
            from typing import Any, ClassVar, Literal, Optional, Union\(classes)


            \(self.union("States", types.states))
            \(self.union("Events", types.events))


            _STATES: dict[str, Any] = {\(states)
            }


            def parse_state(name: str, data: Mapping[str, Any]) -> States:
                \"""The state of that name, as `get` and `watch` have it. Raises KeyError if there is none.\"""
                state: States = _STATES[name].from_data(data)
                return state
            """
    }

    private static func type(_ shape: MachineTypes.Shape) -> String {
        // Within a class a field hides what is called like it, and the class is named there.
        let reserved = self.reserved.union([shape.type])
        var names = GeneratedNames(reserved: reserved)
        let fields = shape.fields.map { (self.name($0.name, &names, reserved), $0) }
        // Those that have to be given come first, as the language wants it.
        let sorted =
            fields.filter { self.value($0.1) == nil } + fields.filter { self.value($0.1) != nil }
        let declared = sorted.map { own, field in
            let value = self.value(field).map { " = \($0)" } ?? ""
            return "\n    \(own): \(self.annotation(field))\(value)"
        }
        let needed = fields.filter { !$0.1.isOptional }
        let members = needed.map { "\($0.1.name.quoted): self.\($0.0)" }.joined(separator: ", ")
        var data = "return {\(members)}"
        if needed.count < fields.count {
            let others = fields.filter(\.1.isOptional).map { own, field in
                """
                        if self.\(own) is not None:
                            data[\(field.name.quoted)] = self.\(own)

                """
            }
            data = "data: dict[str, Any] = {\(members)}\n\(others.joined())        return data"
        }
        let arguments = sorted.map { own, field in
            let key = field.name.quoted
            // One with a default, too, is there in what is shown.
            return field.isOptional ? "\(own)=data.get(\(key))" : "\(own)=data[\(key)]"
        }
        return """
            @dataclasses.dataclass(frozen=True)
            class \(shape.type):
                NAME: ClassVar[Literal[\(shape.name.quoted)]] = \(shape.name.quoted)\(declared.joined())

                def to_data(self) -> dict[str, Any]:
                    \(data)

                @classmethod
                def from_data(cls, data: Mapping[str, Any]) -> \(shape.type):
                    return cls(\(arguments.joined(separator: ", ")))
            """
    }

    private static func union(_ name: String, _ shapes: [MachineTypes.Shape]) -> String {
        let types = shapes.map { "    \($0.type),\n" }.joined()
        return shapes.isEmpty ? "\(name) = None" : "\(name) = Union[\n\(types)]"
    }

    /// What stands for a field where it is not given; nil where it has to be.
    private static func value(_ field: MachineTypes.Field) -> String? {
        if field.isOptional { return "None" }
        return field.fallback.flatMap { self.literal($0) }
    }

    private static let plain = [
        "boolean": "bool", "integer": "int", "string": "str",
        // Milliseconds, and text of RFC 3339.
        "time": "int", "instant": "str",
    ]

    private static func annotation(_ field: MachineTypes.Field) -> String {
        let values = field.values.compactMap { self.literal($0) }
        let listed = values.isEmpty || values.count < field.values.count ? nil : values
        let type =
            switch field.type {
            // A literal type has no fractions.
            case "number": "float"
            case "array": "list[Any]"
            case "object": "dict[str, Any]"
            case "boolean", "integer", "string", "time", "instant":
                listed.map { "Literal[\($0.joined(separator: ", "))]" } ?? self.plain[field.type]
                    ?? ""
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
    private static func name(
        _ name: String,
        _ names: inout GeneratedNames,
        _ reserved: Set<String>
    ) -> String {
        let letters = name.utf8.map { $0.isLetterOrDigit ? $0 : UInt8(ascii: "_") }
        var own = String(decoding: letters, as: UTF8.self)
        // Two in front would be mangled, and a digit is none of a name's beginnings.
        own = String(own.drop { $0 == "_" })
        if own.isEmpty || own.utf8.first?.isDigit == true || name.hasPrefix("_") { own = "_" + own }
        return names.unique(reserved.contains(own) ? own + "_" : own)
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
        let machine = types.machine.map { " of the machine \($0.quoted)" } ?? ""
        let states = types.states.map { self.type("state", $0) }.joined()
        let events = types.events.map { self.type("event", $0) }.joined()
        return """
            // The types\(machine), made by `statectl codegen typescript`; make them again rather than edit them.
            \(states)\(events)
            \(self.union("States", types.states))
            \(self.union("Events", types.events))
            """
    }

    private static func type(_ key: String, _ shape: MachineTypes.Shape) -> String {
        let fields = shape.fields.map { field in
            let mark = field.isOptional || field.fallback != nil ? "?" : ""
            return "        readonly \(field.name.quoted)\(mark): \(self.annotation(field));\n"
        }
        return """

            export interface \(shape.type) {
                readonly \(key): \(shape.name.quoted);
                readonly data: \(fields.isEmpty ? "Record<string, never>" : "{\n\(fields.joined())    }");
            }

            """
    }

    private static func union(_ name: String, _ shapes: [MachineTypes.Shape]) -> String {
        let types = shapes.map(\.type).joined(separator: " | ")
        return "export type \(name) = \(shapes.isEmpty ? "never" : types);"
    }

    private static func annotation(_ field: MachineTypes.Field) -> String {
        if !field.values.isEmpty { return field.values.map(\.description).joined(separator: " | ") }
        return switch field.type {
        case "boolean": "boolean"
        // A time in milliseconds, an instant as text of RFC 3339.
        case "integer", "number", "time": "number"
        case "string", "instant": "string"
        case "array": "readonly unknown[]"
        case "object": "Readonly<Record<string, unknown>>"
        default: "unknown"
        }
    }
}

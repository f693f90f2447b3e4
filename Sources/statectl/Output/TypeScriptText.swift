import StateMachineClient

/// A machine's types in TypeScript.
enum TypeScriptText {
    /// The module, without the last newline.
    static func text(_ types: MachineTypes) -> String {
        var names = GeneratedNames()
        let states = types.states.map { (names.type($0.name, "State"), $0) }
        let events = types.events.map { (names.type($0.name, "Event"), $0) }
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

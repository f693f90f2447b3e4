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

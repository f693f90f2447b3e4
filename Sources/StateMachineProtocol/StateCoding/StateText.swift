import StateMachineCore

extension StateCoding {
    /// The state for people: `ready(true)`, `authentication(phase: active)`.
    package func text(of state: State) -> String {
        StateText.text(name: state.name.rawValue, data: self.schema.data(of: TypedValue(state)))
    }
}

/// States as people write them.
package enum StateText {
    /// The name, and the data in parentheses; a single value without a label is shown without one.
    package static func text(name: String, data: JSONValue) -> String {
        guard let members = data.members, !members.isEmpty else { return name }
        let fields = members.map { member in
            let value = Self.text(of: member.value)
            return members.count == 1 && member.key == "value" ? value : "\(member.key): \(value)"
        }
        return "\(name)(\(fields.joined(separator: ", ")))"
    }

    /// A word is unquoted where it cannot be mistaken for another value; everything else is JSON.
    private static func text(of value: JSONValue) -> String {
        if case .string(let string) = value, !string.isEmpty,
            string.utf8.allSatisfy({ $0.isWordCharacter }), JSONValue(parsing: string) == nil
        {
            return string
        }
        return [value].listed
    }
}

extension UInt8 {
    fileprivate var isWordCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}

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
            string.utf8.allSatisfy({ $0.isLetterOrDigit || "-_.".utf8.contains($0) }),
            JSONValue(parsing: string) == nil
        {
            return string
        }
        return [value].listed
    }
}

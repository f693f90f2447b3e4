import StateMachineClient
import StateMachineCore

extension NamedState {
    /// The state as it would stand in Swift: `authentication(phase: active)`, `ready(true)`.
    var text: String { self.name.printable + self.valuesText }

    /// The associated values in parentheses; empty if there are none.
    var valuesText: String {
        guard !self.data.isEmpty else { return "" }
        let values = self.data.enumerated().map { index, member in
            let unlabelled = index == 0 ? "value" : "value\(index + 1)"
            let value = member.value.shortText
            return member.key == unlabelled ? value : "\(member.key.printable): \(value)"
        }
        return "(\(values.joined(separator: ", ")))"
    }
}

extension JSONValue {
    /// A word without quotes, unless it could be mistaken for another value; else JSON.
    var shortText: String {
        guard let string = self.string else { return self.description.printable }
        let isWord = string.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                true
            default: byte >= 0x80
            }
        }
        guard isWord, !string.isEmpty, JSONValue(parsing: string) == nil else {
            return self.description.printable
        }
        return string.printable
    }
}

import StateMachineCore

/// A value that a source gives a setting.
package enum SettingValue: Hashable, Sendable {
    case text(String)
    case number(Int)
    case flag(Bool)
    /// A value of a type that no setting has, as it was written.
    case other(String)

    /// The value as a person would write it.
    package var text: String {
        switch self {
        case .text(let value), .other(let value): value
        case .number(let value): "\(value)"
        case .flag(let value): "\(value)"
        }
    }

    /// The value as it stands in a configuration file.
    var yaml: String {
        guard case .text(let value) = self else { return self.text }
        return value.yaml
    }
}

extension String {
    /// The text as a YAML scalar, quoted where it has to be.
    var yaml: String {
        let isPlain = self.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0))
        }
        guard !self.unicodeScalars.contains(where: \.isUnprintable) else { return self.escaped }
        return isPlain ? self : "'\(self.replacing("'", with: "''"))'"
    }
    /// The text in YAML's double quotes, which can spell out what a terminal would interpret.
    private var escaped: String {
        var text = "\""
        for scalar in self.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.isUnprintable:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

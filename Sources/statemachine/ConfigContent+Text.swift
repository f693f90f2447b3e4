import Configuration

extension ConfigContent {
    /// The value as a person would write it.
    var text: String {
        switch self {
        case .string(let value): value
        case .int(let value): "\(value)"
        case .bool(let value): "\(value)"
        case .double, .bytes, .stringArray, .intArray, .doubleArray, .boolArray, .byteChunkArray:
            // No setting is of these types.
            "\(self)"
        @unknown default: "\(self)"
        }
    }

    /// The value as it stands in a configuration file.
    var yaml: String {
        guard case .string(let value) = self else { return self.text }
        return value.yaml
    }
}

extension String {
    /// The text as a YAML scalar, quoted where it has to be.
    var yaml: String {
        let isPlain = self.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0))
        }
        return isPlain ? self : "'\(self.replacing("'", with: "''"))'"
    }
}

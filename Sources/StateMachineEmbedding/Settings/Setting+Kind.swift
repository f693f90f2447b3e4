import ArgumentParser

extension Setting {
    /// What a value must be, and its default.
    enum Kind {
        case count(ClosedRange<Int>, default: Int)
        /// True if given; false by default.
        case yes
        case choice([String], default: String)
        /// The default is in words: it depends on who starts the daemon.
        case directory(default: String)
        /// The same for a file.
        case file(default: String)
        /// What may stand in a file's name; there is no default.
        case name

        /// The value of an environment variable, which is always text.
        func value(of text: String) -> SettingValue {
            switch self {
            case .count: Int(text).map { .number($0) } ?? .other(text)
            case .yes:
                switch text.lowercased() {
                case "true", "yes", "1": .flag(true)
                case "false", "no", "0": .flag(false)
                default: .other(text)
                }
            case .choice, .directory, .file, .name: .text(text)
            }
        }

        /// What a value must be, to go after "must be".
        var expected: String {
            switch self {
            case .count(let range, _):
                "a whole number from \(range.lowerBound) to \(range.upperBound)"
            case .yes: "true or false"
            case .choice(let values, _): "one of \(values.joined(separator: ", "))"
            case .directory, .file: "a path"
            case .name: "a word of letters, digits and any of - _ . : @"
            }
        }

        /// The default, for people.
        var defaultText: String {
            switch self {
            case .count(_, let value): "\(value)"
            case .yes: "false"
            case .choice(_, let value), .directory(let value), .file(let value): value
            case .name: "none"
            }
        }

        /// The default as a value; nil where it is only known once the daemon starts.
        var defaultValue: SettingValue? {
            switch self {
            case .count(_, let value): .number(value)
            case .yes: .flag(false)
            case .choice(_, let value): .text(value)
            case .directory, .file, .name: nil
            }
        }

        var completion: CompletionKind? {
            switch self {
            case .count, .yes, .name: nil
            case .choice(let values, _): .list(values)
            case .directory: .directory
            case .file: .file()
            }
        }

        /// Whether a value of the right type is also in range.
        func admits(_ value: SettingValue) -> Bool {
            switch (self, value) {
            case (.count(let range, _), .number(let value)): range.contains(value)
            case (.choice(let values, _), .text(let value)): values.contains(value)
            case (.directory, .text(let value)), (.file, .text(let value)): !value.isEmpty
            case (.name, .text(let value)): value.isInstanceName
            case (.yes, .flag): true
            case (_, .text), (_, .number), (_, .flag), (_, .other): false
            }
        }
    }
}

extension String {
    /// Whether it can be the instance of a template unit, and a part of a file's name.
    fileprivate var isInstanceName: Bool {
        !self.isEmpty && self.first != "."
            && self.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-_.:@\\".utf8.contains(byte)
                }
            }
    }
}

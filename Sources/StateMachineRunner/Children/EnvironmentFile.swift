import Processes
import StateMachineDeclaration
import SystemPackage

/// The variables of a file, read as systemd reads that of `EnvironmentFile=` (systemd.exec(5); its `env-file.c`).
struct EnvironmentFile {
    /// The most bytes that are read of a file.
    ///
    /// 1 MiB: more than a process may be given.
    private static let limit = 1 << 20

    /// In the file's order.
    let variables: [DeclaredCommand.Variable]

    /// The file at that path; with `-` before it, it need not be readable.
    ///
    /// Nil if it cannot be read, has a NUL or is not UTF-8, for which systemd refuses to start the command.
    init?(_ path: String) {
        let mayBeMissing = path.hasPrefix("-")
        let path = mayBeMissing ? String(path.dropFirst()) : path
        // What cannot be read counts as what cannot be understood.
        let file = FileDescriptor.whole(path, atMost: Self.limit).flatMap { EnvironmentFile($0) }
        guard let file = file ?? (mayBeMissing ? EnvironmentFile([]) : nil) else { return nil }
        self = file
    }

    /// Nil if there is a NUL among the bytes, or they are not UTF-8.
    init?(_ bytes: [UInt8]) {
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
            return nil
        }
        var parser = Parser()
        for byte in bytes { parser.take(byte) }
        parser.end()
        self.variables = parser.variables
    }

    /// The bytes of a file, one after the other.
    private struct Parser {
        private enum State {
            case beforeKey, key, beforeValue, value, escape
            case singleQuoted, doubleQuoted, doubleQuotedEscape
            case comment, commentEscape
        }

        /// What a backslash escapes between double quotes; before anything else it stays.
        private static let escapable = Set("\"\\`$".utf8)

        private(set) var variables: [DeclaredCommand.Variable] = []
        private var state = State.beforeKey
        private var key: [UInt8] = []
        private var text: [UInt8] = []
        /// White space from there on, unless more follows, is not part of the value.
        private var textEnd: Int?

        mutating func take(_ byte: UInt8) {
            let isNewline = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            let isSpace = isNewline || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            switch self.state {
            case .beforeKey:
                if byte == UInt8(ascii: "#") || byte == UInt8(ascii: ";") {
                    self.state = .comment
                } else if !isSpace {
                    self.state = .key
                    self.key = [byte]
                }
            case .key:
                if isNewline {
                    self.state = .beforeKey
                } else if byte == UInt8(ascii: "=") {
                    self.state = .beforeValue
                    (self.text, self.textEnd) = ([], nil)
                } else {
                    self.key.append(byte)
                }
            case .beforeValue:
                if isNewline { return self.push() }
                switch byte {
                case UInt8(ascii: "'"): self.state = .singleQuoted
                case UInt8(ascii: "\""): self.state = .doubleQuoted
                case UInt8(ascii: "\\"): self.state = .escape
                default:
                    guard !isSpace else { return }
                    self.state = .value
                    self.append(byte)
                }
            case .value:
                if isNewline { return self.push() }
                if byte == UInt8(ascii: "\\") {
                    self.state = .escape
                    self.textEnd = nil
                } else if isSpace {
                    self.textEnd = self.textEnd ?? self.text.count
                    self.text.append(byte)
                } else {
                    self.append(byte)
                }
            case .escape:
                self.state = .value
                // An escaped end of a line continues it.
                if !isNewline { self.append(byte) }
            case .singleQuoted:
                if byte == UInt8(ascii: "'") {
                    self.state = .beforeValue
                } else {
                    self.append(byte)
                }
            case .doubleQuoted:
                switch byte {
                case UInt8(ascii: "\""): self.state = .beforeValue
                case UInt8(ascii: "\\"): self.state = .doubleQuotedEscape
                default: self.append(byte)
                }
            case .doubleQuotedEscape:
                self.state = .doubleQuoted
                guard byte != UInt8(ascii: "\n") else { return }
                if !Self.escapable.contains(byte) { self.append(UInt8(ascii: "\\")) }
                self.append(byte)
            case .comment:
                if byte == UInt8(ascii: "\\") {
                    self.state = .commentEscape
                } else if isNewline {
                    self.state = .beforeKey
                }
            case .commentEscape:
                // The end of a line ends a comment whatever stands before it, from systemd 254 on.
                self.state = isNewline ? .beforeKey : .comment
            }
        }

        /// The end of the file ends a value.
        mutating func end() {
            switch self.state {
            case .beforeValue, .value, .escape, .singleQuoted, .doubleQuoted, .doubleQuotedEscape:
                self.push()
            case .beforeKey, .key, .comment, .commentEscape: break
            }
        }

        private mutating func append(_ byte: UInt8) {
            self.text.append(byte)
            self.textEnd = nil
        }

        private mutating func push() {
            self.state = .beforeKey
            while let last = self.key.last, last == 0x20 || last == 0x09 { self.key.removeLast() }
            let value = self.text.prefix(self.textEnd ?? self.text.count)
            guard DeclaredCommand.Variable.isName(self.key), Self.isValue(value) else { return }
            self.variables.append(
                DeclaredCommand.Variable(
                    name: String(decoding: self.key, as: UTF8.self),
                    value: String(decoding: value, as: UTF8.self)
                )
            )
        }

        /// No control characters but tabs and ends of lines; systemd ignores such a variable.
        private static func isValue(_ value: ArraySlice<UInt8>) -> Bool {
            value.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 || $0 == 0x0a }
        }
    }
}

import StateMachineDeclaration
import SystemPackage

/// A file of variables, one a line, as systemd's `EnvironmentFile=` reads it: `NAME=value`, comments with `#`
/// or `;`, and quotes around a value.
struct EnvironmentFile {
    /// The most bytes that are read of a file.
    ///
    /// 1 MiB: more than a process may be given.
    private static let limit = 1 << 20

    /// In the file's order.
    let variables: [DeclaredCommand.Variable]

    /// The file at that path; nil if it cannot be read.
    init?(path: String) {
        do {
            let file = try FileDescriptor.open(
                FilePath(path),
                .readOnly,
                options: [.closeOnExec, .nonBlocking]
            )
            let bytes = try file.closeAfter {
                try [UInt8](unsafeUninitializedCapacity: Self.limit) { buffer, count in
                    count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
            }
            self.init(text: String(decoding: bytes, as: UTF8.self))
        } catch {
            return nil
        }
    }

    init(text: String) {
        self.variables = text.split(separator: "\n").compactMap { line in
            let line = line.trimmed
            guard line.first != "#", line.first != ";", let equals = line.firstIndex(of: "=") else {
                return nil
            }
            let name = line[..<equals].trimmed
            guard !name.isEmpty else { return nil }
            let value = line[line.index(after: equals)...].trimmed
            return DeclaredCommand.Variable(name: String(name), value: Self.unquoted(value))
        }
    }

    /// The text without quotes around it; a backslash escapes, except in single quotes.
    private static func unquoted(_ text: Substring) -> String {
        let quote = text.first
        guard quote == "'" || quote == "\"", text.count > 1, text.last == quote else {
            return Self.unescaped(text)
        }
        let inner = text.dropFirst().dropLast()
        return quote == "'" ? String(inner) : Self.unescaped(inner)
    }

    private static func unescaped(_ text: Substring) -> String {
        var result = ""
        var isEscaped = false
        for character in text {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                result.append(character)
                isEscaped = false
            }
        }
        return result
    }
}

extension Substring {
    /// Without white space around it.
    fileprivate var trimmed: Substring {
        var rest = self.drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}

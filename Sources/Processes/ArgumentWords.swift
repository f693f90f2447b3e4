internal import Glibc

/// The words of this process's command line.
package enum ArgumentWords {
    /// Those after the program's name, as a parser takes them; see ``separated(_:upTo:)``.
    package static var all: [String] {
        let words = Array(CommandLine.arguments.dropFirst())
        // A question from a shell's completion script, which has a "--" of its own.
        guard words.first != "---completion" else { return words }
        return self.separated(words, upTo: words.firstIndex(of: "--") ?? words.endIndex)
    }

    /// The words, with an option that ends in `=` and its empty value as two.
    ///
    /// ArgumentParser takes the next word for the value of such an option.
    package static func separated(_ words: [String], upTo end: Int) -> [String] {
        var separated: [String] = []
        for word in words[..<end] {
            if word.hasPrefix("-"), word.firstIndex(of: "=") == word.indices.last {
                separated += [String(word.dropLast()), ""]
            } else {
                separated.append(word)
            }
        }
        return separated + words[end...]
    }

    /// The words as the bytes that they are, the program's name among them.
    private static var words: [UnsafeMutablePointer<CChar>] {
        UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
            .compactMap(\.self)
    }

    /// The last words, as the bytes that they are.
    package static func last(_ count: Int) -> [[UInt8]] {
        self.words.suffix(count).map { word in
            UnsafeBufferPointer(start: word, count: strlen(word)).map { UInt8(bitPattern: $0) }
        }
    }

    /// What is wrong with the first word, or variable of ours in the environment, that is not UTF-8: what the standard
    /// library makes of it names another value, and another file.
    ///
    /// - Parameter count: how many words after the program's name are this program's own; nil: all. Others are those of a
    ///   program that is to be run.
    /// - Returns: the objection, which names the word; nil if there is none.
    package static func objection(inFirst count: Int? = nil) -> String? {
        for word in self.words.prefix(count.map { $0 + 1 } ?? .max) {
            if let shown = self.unreadable(word) { return "\"\(shown)\" is not UTF-8" }
        }
        var next = environ
        while let variable = next.pointee {
            if self.isOurs(variable), let shown = self.unreadable(variable) {
                return "the environment variable \(shown) is not UTF-8"
            }
            next += 1
        }
        return nil
    }

    /// Variables from which paths are made.
    private static let variables = [
        "STATEMACHINE_", "RUNTIME_DIRECTORY=", "STATE_DIRECTORY=", "XDG_RUNTIME_DIR=",
    ]

    private static func isOurs(_ text: UnsafePointer<CChar>) -> Bool {
        self.variables.contains { strncmp(text, $0, $0.utf8.count) == 0 }
    }

    /// A text, if it is not UTF-8, with its other bytes as `\\xff`.
    package static func unreadable(_ text: UnsafePointer<CChar>) -> String? {
        guard String(validatingCString: text) == nil else { return nil }
        return UnsafeBufferPointer(start: text, count: strlen(text)).map { byte in
            let byte = UInt8(bitPattern: byte)
            guard !(0x20..<0x7F).contains(byte) else { return String(Unicode.Scalar(byte)) }
            let digits = String(byte, radix: 16)
            return "\\x" + (digits.count < 2 ? "0" : "") + digits
        }
        .joined()
    }
}

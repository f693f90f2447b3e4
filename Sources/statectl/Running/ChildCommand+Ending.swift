import StateMachineCore

extension ChildCommand {
    /// How a command ended, or why it did not begin.
    enum Ending: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)
        /// There is no such program.
        case notFound
        /// The system would not start it.
        case notStarted(String)

        /// The status as in a shell's `$?`.
        var status: Int32 {
            switch self {
            case .exited(let code): code
            case .signalled(let signal): 128 + signal
            case .notFound: 127
            case .notStarted: 126
            }
        }

        /// What to say about a command that did not succeed; nil if it did.
        func complaint(about command: ChildCommand) -> String? {
            let name = command.words[0].printable
            return switch self {
            case .exited(0): nil
            case .exited(let code): "\(name) ended with status \(code)"
            case .signalled(let signal): "\(name) was ended by signal \(signal)"
            case .notFound: "there is no command \(name)"
            case .notStarted(let why): "\(name) could not be started: \(why.printable)"
            }
        }
    }

    /// The first line of a command's output, as far as the protocol has room for it.
    struct FirstLine: Sendable {
        /// The protocol's limit for a `why`.
        private static let limit = 256

        private var bytes: [UInt8] = []
        private var isWhole = false

        mutating func append(_ more: [UInt8]) {
            guard !self.isWhole else { return }
            let line = more.prefix { $0 != UInt8(ascii: "\n") }
            // One byte beyond the limit shows where a character is cut in two.
            self.bytes += line.prefix(Self.limit + 1 - self.bytes.count)
            self.isWhole = line.count < more.count || self.bytes.count > Self.limit
        }

        /// The line; nil if there is nothing in it.
        var text: String? {
            var characters = ""
            for character in String(decoding: self.bytes, as: UTF8.self) {
                let longer = characters + String(character)
                guard longer.utf8.count <= Self.limit else { break }
                characters = longer
            }
            return characters.allSatisfy(\.isWhitespace) ? nil : characters
        }
    }
}

import ArgumentParser

/// What is wrong with a command line in this program's words, followed by how the command is used.
struct UsageError: Error, CustomStringConvertible {
    /// What is wrong.
    let description: String
    /// All that is said.
    let text: String

    /// Instead of what the parser says of it, whose lines on the usage follow.
    init(_ objection: String, instead complaint: String) {
        self.description = objection
        let usage = complaint.split(separator: "\n").drop { !$0.hasPrefix("Usage: ") }
        self.text = (["Error: \(objection)"] + usage).joined(separator: "\n")
    }

    /// Of a command that the parser has nothing to say against.
    init(_ objection: String, to command: any ParsableCommand.Type) {
        self.description = objection
        let name = Statectl._commandName
        let path = command._commandName == name ? name : "\(name) \(command._commandName)"
        self.text = """
            Error: \(objection)
            Usage: \(Statectl.usageString(for: command))
              See '\(path) --help' for more information.
            """
    }
}

import ArgumentParser

/// What is wrong with a command line in this program's words, followed by how the command is used.
struct UsageError: Error, CustomStringConvertible {
    /// What is wrong.
    let description: String
    /// The whole output.
    let text: String

    /// Replaces the parser's complaint, and keeps the lines on the usage that follow it.
    init(_ objection: String, instead complaint: String) {
        self.description = objection
        let usage = complaint.split(separator: "\n").drop { !$0.hasPrefix("Usage: ") }
        self.text = (["Error: \(objection)"] + usage).joined(separator: "\n")
    }

    /// For a command that the parser has accepted.
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

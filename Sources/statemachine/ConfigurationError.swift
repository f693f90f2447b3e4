/// What is wrong with the configuration: a sentence for each thing, and where it stands.
struct ConfigurationError: Error, Hashable, CustomStringConvertible {
    let problems: [String]

    init(_ problems: [String]) {
        self.problems = problems
    }

    init(_ problem: String) {
        self.init([problem])
    }

    var description: String { self.problems.joined(separator: "\n") }
}

/// What is wrong with the configuration: a sentence for each thing, and where it stands.
struct ConfigurationError: Error, Hashable, CustomStringConvertible {
    let problems: [String]

    /// The error number of the system call that failed, if one did.
    let errno: CInt?

    init(_ problems: [String]) {
        self.problems = problems
        self.errno = nil
    }

    init(_ problem: String, errno: CInt? = nil) {
        self.problems = [problem]
        self.errno = errno
    }

    var description: String { self.problems.joined(separator: "\n") }
}

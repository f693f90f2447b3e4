/// What is wrong with the configuration: a sentence for each thing, and where it stands.
package struct ConfigurationError: Error, Hashable, CustomStringConvertible {
    package let problems: [String]

    /// The error number of the system call that failed, if one did.
    package let errno: CInt?

    package init(_ problems: [String], errno: CInt? = nil) {
        self.problems = problems
        self.errno = errno
    }

    package init(_ problem: String, errno: CInt? = nil) { self.init([problem], errno: errno) }

    package var description: String { self.problems.joined(separator: "\n") }
}

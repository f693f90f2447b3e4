package import StateMachineProtocol

/// A machine's new declaration, read at a reload.
package struct Redeclaration: Sendable {
    package let schema: any Schema
    /// What may not do what was meant, one line each.
    package let warnings: [String]

    package init(_ schema: any Schema, warnings: [String]) {
        self.schema = schema
        self.warnings = warnings
    }
}

/// Why a reload is refused: everything stays as it was.
package struct ReloadRefusal: Error, Sendable {
    /// One line for each thing that is wrong.
    package let problems: [String]

    package init(_ problems: [String]) {
        self.problems = problems
    }
}

/// The new declaration has states of another kind, which only a new process can serve.
///
/// Thrown by the code that reads the declaration, and then by the daemon once it has ended because
/// of it: whoever runs the daemon exits with ``exitStatus``, and starts it again.
package struct SuccessionNeeded: Error, Sendable {
    /// `EX_TEMPFAIL` of sysexits.h; the units say `RestartForceExitStatus=75`.
    package static var exitStatus: Int32 { 75 }

    package init() {}
}

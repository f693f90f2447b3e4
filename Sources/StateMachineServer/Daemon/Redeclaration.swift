package import StateMachineCore
package import StateMachineProtocol

/// What a machine is declared by at a reload.
package struct Redeclaration<State: MachineState & Hashable>: Sendable {
    package let coding: StateCoding<State>
    /// What may not do what was meant, a line each.
    package let warnings: [String]

    package init(_ coding: StateCoding<State>, warnings: [String]) {
        self.coding = coding
        self.warnings = warnings
    }
}

/// Why a reload is refused: everything stays as it was.
package struct ReloadRefusal: Error, Sendable {
    /// A line for each thing that is wrong.
    package let problems: [String]

    package init(_ problems: [String]) {
        self.problems = problems
    }
}

/// What declares the machine has states of another kind from now on, which a process of its own serves.
///
/// Thrown by what reads the declaration, and then by the daemon when it has ended for that: whoever runs it
/// exits with ``exitStatus``, and starts it again.
package struct SuccessionNeeded: Error, Sendable {
    /// `EX_TEMPFAIL` of sysexits.h; the units say `RestartForceExitStatus=75`.
    package static var exitStatus: Int32 { 75 }

    package init() {}
}

package import StateMachineCore
package import StateMachineProtocol

/// What a machine is declared by at a reload.
package struct Redeclaration<State: MachineState>: Sendable {
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

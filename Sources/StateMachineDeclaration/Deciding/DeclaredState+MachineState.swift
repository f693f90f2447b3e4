import StateMachineCore

extension DeclaredState: MachineState {
    /// What a declared state is called.
    package struct Name: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }
    }

    package var name: Name { Name(rawValue: self.declared.name) }

    /// Those that a client may set from here; what the machine does by itself may lead elsewhere.
    package var successors: Set<Name> {
        Set(self.declared.successors.map { Name(rawValue: self.declaration.states[$0].name) })
    }

    /// By number: no name is looked at.
    package func mayBecome(_ next: Self) -> Bool {
        self.declaration.maySet(next.number, from: self.number)
    }
}

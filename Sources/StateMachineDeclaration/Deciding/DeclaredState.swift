import StateMachineCore
package import StateMachineProtocol

/// A state of a declared machine: which one, and the values of its fields.
///
/// States of different declarations are never equal.
package struct DeclaredState: MachineState, Hashable {
    /// The name of such a state.
    package struct Name: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The declaration that it is a state of.
    package let declaration: Declaration
    /// The number of the state there.
    package let number: Int
    /// The values of all fields, in the order of the declaration; nil for those that are absent.
    package let values: [JSONValue?]

    /// A state with values that have been evaluated: one for each field.
    init(_ declaration: Declaration, _ number: Int, _ values: [JSONValue?]) {
        self.declaration = declaration
        self.number = number
        // Numbers may be spelled in several ways; they are kept in one.
        self.values = zip(declaration.states[number].fields, values).map { field, value in
            value.map { field.kept($0) }
        }
    }

    /// Its declared state.
    package var declared: DeclaredCase { self.declaration.states[self.number] }

    /// The value of the field at an index; nil if it is absent.
    package func value(at index: Int) -> JSONValue? { self.values[index] }

    /// The value of the field of that name; nil if there is none.
    package subscript(_ name: String) -> JSONValue? {
        self.declared.fieldIndex(name).flatMap { self.values[$0] }
    }

    package var name: Name { Name(rawValue: self.declared.name) }

    /// Those that a client may set from here; what the machine does by itself may lead elsewhere.
    package var successors: Set<Name> {
        Set(self.declared.successors.map { Name(rawValue: self.declaration.states[$0].name) })
    }

    /// By number: no name is looked up.
    ///
    /// Never true of a state of another declaration.
    package func mayBecome(_ next: Self) -> Bool {
        next.declaration === self.declaration
            && self.declaration.maySet(next.number, from: self.number)
    }

    /// Whether the values are the same, however they are spelled.
    package static func == (left: Self, right: Self) -> Bool {
        left.number == right.number && left.declaration === right.declaration
            && zip(left.values, right.values).allSatisfy { own, other in
                switch (own, other) {
                case (nil, nil): true
                case (let own?, let other?): own.equals(other)
                case (nil, _?), (_?, nil): false
                }
            }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.number)
        for value in self.values {
            hasher.combine(value == nil)
            value?.hashValue(into: &hasher)
        }
    }
}

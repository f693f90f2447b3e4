package import StateMachineProtocol

/// A state of a declared machine: which one, and the values of its fields.
///
/// Small closed fields are packed into words, so that states without open fields are compared by a few
/// integers and copied without counting references but that to their declaration. States of different
/// declarations are never equal.
package struct DeclaredState: Hashable, Sendable {
    /// What it is a state of.
    package let declaration: Declaration
    /// Its number in ``Declaration/states``.
    package let number: Int

    private let bits: UInt64
    private let firstInteger: Int64
    private let secondInteger: Int64
    private let open: OpenValues?

    /// A state with values that have been judged: one for each field, nil for those that are absent.
    init(_ declaration: Declaration, _ number: Int, _ values: [JSONValue?]) {
        let state = declaration.states[number]
        var bits: UInt64 = 0
        var integers: (Int64, Int64) = (0, 0)
        var boxed = [JSONValue?](repeating: nil, count: state.layout.boxedCount)
        for (index, place) in state.layout.places.enumerated() {
            guard let value = values[index] else { continue }
            switch place {
            case .bits(let shift, _, let first):
                bits |= UInt64(truncatingIfNeeded: (value.integer ?? first) - first + 1) << shift
            case .index(let shift, _):
                let found = state.fields[index].values.firstIndex(of: value) ?? 0
                bits |= UInt64(found + 1) << shift
            case .boolean(let shift): bits |= (value.bool == true ? 2 : 1) << shift
            case .word(let word, let shift):
                bits |= 1 << shift
                if word == 0 {
                    integers.0 = value.integer ?? 0
                } else {
                    integers.1 = value.integer ?? 0
                }
            case .boxed(let box): boxed[box] = value
            }
        }
        self.declaration = declaration
        self.number = number
        self.bits = bits
        self.firstInteger = integers.0
        self.secondInteger = integers.1
        self.open = boxed.isEmpty ? nil : OpenValues(boxed)
    }

    /// What is declared of it.
    package var declared: DeclaredCase { self.declaration.states[self.number] }

    /// The value of the field at an index; nil if it is absent.
    package func value(at index: Int) -> JSONValue? {
        let state = self.declared
        switch state.layout.places[index] {
        case .bits(let shift, let width, let first):
            let packed = self.packed(shift, width)
            return packed == 0 ? nil : .number("\(Int64(packed) - 1 + first)")
        case .index(let shift, let width):
            let packed = self.packed(shift, width)
            return packed == 0 ? nil : state.fields[index].values[Int(packed) - 1]
        case .boolean(let shift):
            let packed = self.packed(shift, 2)
            return packed == 0 ? nil : .bool(packed == 2)
        case .word(let word, let shift):
            guard self.packed(shift, 1) == 1 else { return nil }
            return .number("\(word == 0 ? self.firstInteger : self.secondInteger)")
        case .boxed(let box): return self.open?.values[box]
        }
    }

    /// The value of the field of that name; nil if there is none.
    package subscript(_ name: String) -> JSONValue? {
        self.declared.fieldIndex(name).flatMap { self.value(at: $0) }
    }

    /// The values of all fields, in the order of the declaration.
    package var values: [JSONValue?] { self.declared.fields.indices.map { self.value(at: $0) } }

    private func packed(_ shift: Int, _ width: Int) -> UInt64 {
        (self.bits >> shift) & (width >= UInt64.bitWidth ? .max : (1 << width) - 1)
    }

    package static func == (left: DeclaredState, right: DeclaredState) -> Bool {
        guard
            left.number == right.number, left.bits == right.bits,
            left.firstInteger == right.firstInteger, left.secondInteger == right.secondInteger,
            left.declaration === right.declaration
        else { return false }
        return left.open === right.open || left.open?.values == right.open?.values
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.number)
        hasher.combine(self.bits)
        hasher.combine(self.firstInteger)
        hasher.combine(self.secondInteger)
        if let open = self.open { hasher.combine(open.values) }
    }
}

/// The values of fields that are not packed; it never changes.
private final class OpenValues: Sendable {
    let values: [JSONValue?]

    init(_ values: [JSONValue?]) { self.values = values }
}

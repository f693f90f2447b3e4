package import StateMachineCore
package import StateMachineProtocol

/// A state of a declared machine: which one, and the values of its fields.
package typealias DeclaredState = DynamicState

extension DynamicState {
    /// A state with values that have been evaluated: one for each field, nil for those that are absent.
    init(_ declaration: Declaration, _ number: Int, _ values: [JSONValue?]) {
        let state = declaration.states[number]
        var words = Words()
        var boxed = [JSONValue?](repeating: nil, count: state.layout.boxedCount)
        for (index, place) in state.layout.places.enumerated() {
            guard let value = values[index] else { continue }
            switch place {
            case .bits(let shift, _, let first):
                let packed = (value.integer ?? first) - first + 1
                words.bits |= UInt64(truncatingIfNeeded: packed) << shift
            case .index(let shift, _):
                let found = state.fields[index].values.firstIndex(of: value) ?? 0
                words.bits |= UInt64(found + 1) << shift
            case .boolean(let shift): words.bits |= (value.bool == true ? 2 : 1) << shift
            case .word(let word, let shift):
                words.bits |= 1 << shift
                if word == 0 {
                    words.first = value.integer ?? 0
                } else {
                    words.second = value.integer ?? 0
                }
            case .boxed(let box): boxed[box] = value
            }
        }
        self.init(
            of: declaration,
            number,
            words,
            open: boxed.isEmpty ? nil : OpenValues(boxed),
            isTimed: state.after != nil
        )
    }

    /// The declaration that it is a state of.
    package var declaration: Declaration {
        guard let declaration = self.form as? Declaration else {
            preconditionFailure("a state of another form than a declaration")
        }
        return declaration
    }

    /// Its declared state.
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
            return .number("\(word == 0 ? self.words.first : self.words.second)")
        case .boxed(let box): return (self.open as? OpenValues)?.values[box]
        }
    }

    /// The value of the field of that name; nil if there is none.
    package subscript(_ name: String) -> JSONValue? {
        self.declared.fieldIndex(name).flatMap { self.value(at: $0) }
    }

    /// The values of all fields, in the order of the declaration.
    package var values: [JSONValue?] { self.declared.fields.indices.map { self.value(at: $0) } }

    private func packed(_ shift: Int, _ width: Int) -> UInt64 {
        (self.words.bits >> shift) & (width >= UInt64.bitWidth ? .max : (1 << width) - 1)
    }
}

/// The values of fields that are not packed; it never changes.
private final class OpenValues: DynamicValues {
    let values: [JSONValue?]

    init(_ values: [JSONValue?]) { self.values = values }

    func isEqual(to other: any DynamicValues) -> Bool {
        guard let other = other as? OpenValues, other.values.count == self.values.count else {
            return false
        }
        return zip(self.values, other.values).allSatisfy { own, other in
            switch (own, other) {
            case (nil, nil): true
            case (let own?, let other?): own.equals(other)
            case (nil, _?), (_?, nil): false
            }
        }
    }

    func isSpelled(as other: any DynamicValues) -> Bool {
        (other as? OpenValues)?.values == self.values
    }

    func hash(into hasher: inout Hasher) {
        for value in self.values {
            hasher.combine(value == nil)
            value?.hashValue(into: &hasher)
        }
    }
}

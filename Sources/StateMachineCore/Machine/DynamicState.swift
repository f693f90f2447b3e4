/// Which states there are, and which may follow which, when that is known only at run time.
///
/// A reference to something that never changes: every state of the machine points to it.
package protocol DynamicForm: AnyObject, Sendable {
    /// The name of the state of that number.
    func name(of state: Int) -> String

    /// Whether a client may set `next` when the machine is in `state`.
    func maySet(_ next: Int, from state: Int) -> Bool

    /// The numbers of the states that a client may set from that one.
    func successors(of state: Int) -> [Int]
}

/// Values of a state that do not fit into its words; they never change.
package protocol DynamicValues: AnyObject, Sendable {
    /// Whether the values are the same, however they are spelled.
    func isEqual(to other: any DynamicValues) -> Bool
    /// Whether they are spelled the same too.
    func isSpelled(as other: any DynamicValues) -> Bool
    func hash(into hasher: inout Hasher)
}

/// A state whose form is known only at run time: its number, and the values of its fields, which
/// the form interprets.
///
/// One reference, so that copying costs one reference count. Small closed fields are packed into
/// words, so that states without open fields are compared by a few integers. States of different
/// forms are never equal.
package struct DynamicState: MachineState, Hashable {
    /// The name of such a state.
    package struct Name: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }
    }

    /// Packed fields.
    package struct Words: Hashable, Sendable {
        package var bits: UInt64 = 0
        package var first: Int64 = 0
        package var second: Int64 = 0

        package init() {}
    }

    private final class Content: Sendable {
        let form: any DynamicForm
        let number: Int
        let words: Words
        let open: (any DynamicValues)?
        let isTimed: Bool

        init(
            _ form: any DynamicForm,
            _ number: Int,
            _ words: Words,
            _ open: (any DynamicValues)?,
            _ isTimed: Bool
        ) {
            self.isTimed = isTimed
            self.form = form
            self.number = number
            self.words = words
            self.open = open
        }
    }

    private let content: Content

    package init(
        of form: any DynamicForm,
        _ number: Int,
        _ words: Words,
        open: (any DynamicValues)?,
        isTimed: Bool
    ) {
        self.content = Content(form, number, words, open, isTimed)
    }

    package var form: any DynamicForm { self.content.form }

    /// The number of the state in its form.
    package var number: Int { self.content.number }

    package var words: Words { self.content.words }

    /// Nil if all fields are packed.
    package var open: (any DynamicValues)? { self.content.open }

    /// Whether it has a deadline: most states have none, and this is asked at every change.
    package var isTimed: Bool { self.content.isTimed }

    package var name: Name { Name(rawValue: self.form.name(of: self.number)) }

    /// Those that a client may set from here; what the machine does by itself may lead elsewhere.
    package var successors: Set<Name> {
        Set(self.form.successors(of: self.number).map { Name(rawValue: self.form.name(of: $0)) })
    }

    /// By number: no name is looked up.
    ///
    /// Never true of a state of another form.
    package func mayBecome(_ next: Self) -> Bool {
        // Uses the contents, here and below, since a property's result is reference-counted.
        let (present, next) = (self.content, next.content)
        return next.form === present.form && present.form.maySet(next.number, from: present.number)
    }

    package static func == (left: DynamicState, right: DynamicState) -> Bool {
        let (left, right) = (left.content, right.content)
        if left === right { return true }
        guard
            left.number == right.number, left.words == right.words, left.form === right.form
        else { return false }
        switch (left.open, right.open) {
        case (nil, nil): return true
        case (let left?, let right?): return left === right || left.isEqual(to: right)
        case (nil, _?), (_?, nil): return false
        }
    }

    /// Whether an equal state has its values spelled the same.
    package func isSpelled(as equal: DynamicState) -> Bool {
        guard let open = self.content.open, let other = equal.content.open else { return true }
        return open === other || open.isSpelled(as: other)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.number)
        hasher.combine(self.words)
        self.open?.hash(into: &hasher)
    }
}

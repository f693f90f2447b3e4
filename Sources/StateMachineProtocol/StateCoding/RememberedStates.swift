/// States in another form, so that one that comes again is not put into it again.
package struct RememberedStates<State: Hashable, Form> {
    @usableFromInline var forms: [State: Form] = [:]

    /// How many are remembered; then all are forgotten.
    ///
    /// 256: more than the combinations of most enums, and with ``sizeLimit`` at most a quarter of a megabyte.
    /// Not tuned.
    @usableFromInline static var limit: Int { 256 }

    /// How many bytes a form may have to be remembered.
    @usableFromInline static var sizeLimit: Int { 1024 }

    @inlinable package init() {}

    /// The form of a state, made if it is not remembered.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - make: makes the form, and says how many bytes it has.
    /// - Returns: the form, which is remembered now if there is room for so many bytes.
    @inlinable
    package mutating func form(of state: State, make: (State) -> (form: Form, size: Int)) -> Form {
        if let form = self.forms[state] { return form }
        let (form, size) = make(state)
        if size <= Self.sizeLimit {
            if self.forms.count == Self.limit { self.forms = [:] }
            self.forms[state] = form
        }
        return form
    }
}

extension RememberedStates: Sendable where State: Sendable, Form: Sendable {}

import StateMachineCore

/// Caches states in another form, so that none is converted again.
package struct RememberedStates<State: Hashable, Form> {
    var forms: [State: Form] = [:]

    /// How many are kept before all are dropped.
    ///
    /// 256: more than the combinations of most enums, and with ``sizeLimit`` at most a quarter of a megabyte.
    /// Not tuned.
    static var limit: Int { 256 }

    /// How many bytes a form may have to be remembered.
    static var sizeLimit: Int { 1024 }

    package init() {}

    /// The form of a state, made if it is not cached.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - make: makes the form, and returns its size in bytes.
    /// - Returns: the form, cached now if it is small enough.
    package mutating func form(of state: State, make: (State) -> (form: Form, size: Int)) -> Form {
        if let index = self.forms.index(forKey: state) {
            if state.isSpelled(as: self.forms[index].key) { return self.forms[index].value }
            self.forms.remove(at: index)
        }
        let (form, size) = make(state)
        if size <= Self.sizeLimit {
            if self.forms.count == Self.limit { self.forms = [:] }
            self.forms[state] = form
        }
        return form
    }
}

extension Hashable {
    /// Whether an equal state has the same form: `1` and `1.0` are equal, and written as they were
    /// given.
    @usableFromInline
    package func isSpelled(as equal: Self) -> Bool {
        guard Self.self == DynamicState.self, let own = self as? DynamicState,
            let equal = equal as? DynamicState
        else { return true }
        return own.isSpelled(as: equal)
    }
}

extension RememberedStates: Sendable where State: Sendable, Form: Sendable {}

import StateMachineProtocol

extension DeclaredField {
    /// Whether values of `source` are of this field's type.
    func hasType(of source: DeclaredField) -> Bool {
        self.type == source.type || (self.type == .number && source.type == .integer)
    }

    /// Whether every value that `source` can have fits this field.
    func admitsAll(of source: DeclaredField) -> Bool {
        guard self.hasType(of: source) else { return false }
        guard source.values.isEmpty else {
            return source.values.allSatisfy { self.objection(to: $0) == nil }
        }
        guard self.values.isEmpty else { return false }
        switch (self.bounds, source.bounds) {
        case (.none, _): return true
        case (.integers(let own), .integers(let other)): return own.contains(other)
        case (.bytes(let own), .bytes(let other)): return own.contains(other)
        case (.numbers(let own), .numbers(let other)): return own.contains(other)
        case (.numbers(let own), .integers(let other)):
            guard let least = JSONDecimal("\(other.lowerBound)"),
                let most = JSONDecimal("\(other.upperBound)")
            else { return false }
            return own.contains(least...most)
        case (.integers, _), (.bytes, _), (.numbers, _): return false
        }
    }
}

import StateMachineProtocol

extension Duration {
    /// Milliseconds as a request has them: rounded up, so that no wait ends early; 0 if negative.
    var wholeMilliseconds: Int64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = self.components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        // The protocol's integers stay below 2^53; so many milliseconds are 285,000 years.
        let bound = Int64(RequestLimits.integerBound) - 1
        return seconds >= bound / 1000 ? bound : seconds * 1000 + fraction
    }
}

/// A history that keeps since when the present stay counts.
package protocol StayHistory: AnyObject, Sendable {
    /// Since when stays count; nil of a machine that has none.
    var starts: StayStarts? { get }

    /// Whether this is the first run since the machine was started, and the last run's stay has not ended.
    var isFirstInBoot: Bool { get }

    /// Notes since when a stay counts, unless another has begun; what begins one is noted with it.
    ///
    /// - Parameters:
    ///   - start: the newest.
    ///   - done: called once, from anywhere; nil, or why it could not be done.
    func keep(_ start: StayStart, done: @escaping @Sendable (_ failure: String?) -> Void)
}

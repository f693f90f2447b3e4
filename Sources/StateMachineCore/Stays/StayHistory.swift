/// A history that keeps the start of the present stay.
package protocol StayHistory: AnyObject, Sendable {
    /// The starts of stays; nil for a machine that has none.
    var starts: StayStarts? { get }

    /// Whether this is the first run since boot, and the last run's stay has not ended.
    var isFirstInBoot: Bool { get }

    /// Notes a stay's start, unless another stay has begun; a new stay's is noted with its
    /// transition.
    ///
    /// - Parameters:
    ///   - start: the newest.
    ///   - done: called once, from anywhere; nil, or why it could not be done.
    func keep(_ start: StayStart, done: @escaping @Sendable (_ failure: String?) -> Void)
}

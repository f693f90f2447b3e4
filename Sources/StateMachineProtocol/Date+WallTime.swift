public import FoundationEssentials
public import StateMachineCore

extension Date {
    /// The moment, to the microsecond.
    public init(_ time: WallTime) {
        self.init(timeIntervalSince1970: Double(time.microseconds) / 1_000_000)
    }
}

extension WallTime {
    /// The moment, to the microsecond; beyond the range of RFC 3339, the nearest in it.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        // What does not fit into microseconds is outside RFC 3339 as well.
        let bounded = min(max(microseconds.isNaN ? 0 : microseconds, -1e18), 1e18)
        self.init(microseconds: Int64(bounded))
    }
}

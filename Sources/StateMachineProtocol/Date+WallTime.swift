public import FoundationEssentials
public import StateMachineCore

extension Date {
    /// The moment, to the microsecond.
    public init(_ time: WallTime) {
        self.init(timeIntervalSince1970: Double(time.microseconds) / 1_000_000)
    }
}

extension WallTime {
    /// The moment, to the microsecond; one that RFC 3339 cannot name is the nearest that it can.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        // What no number of microseconds can say, RFC 3339 cannot either.
        let bounded = min(max(microseconds.isNaN ? 0 : microseconds, -1e18), 1e18)
        self.init(microseconds: Int64(bounded))
    }
}

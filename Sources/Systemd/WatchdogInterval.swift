internal import CSystemd

/// How often the service manager expects a sign of life: sd_watchdog_enabled(3).
package enum WatchdogInterval {
    /// The unit's `WatchdogSec=`; nil if no sign of life is expected from this process.
    package static var requested: Duration? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }
}

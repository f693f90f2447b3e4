#if os(Linux)
import Dispatch
import CPlatform

/// The kernel's clocks and timers: a deadline costs no wake-up before it is due.
package struct KernelClock: StayClock {
    package init() {}

    package var moment: StayMoment {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        let uptime = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        return StayMoment(uptime: uptime, wall: .now)
    }

    package func timer(_ ring: @escaping @Sendable () -> Void) -> (any StayTimer)? {
        KernelTimer(CLOCK_BOOTTIME, ring)
    }

    package func onSetting(_ handler: @escaping @Sendable () -> Void) -> (any Sendable)? {
        let timer = KernelTimer(CLOCK_REALTIME, handler)
        timer?.ringWhenTheClockIsSet()
        return timer
    }
}
#endif

#if os(Linux)
import Dispatch
import CPlatform

/// A kernel timer, which rings on a queue of its own.
///
/// `@unchecked Sendable`: a descriptor may be used, and a source cancelled, from anywhere.
final class KernelTimer: StayTimer, @unchecked Sendable {
    private let descriptor: CInt
    private let source: any DispatchSourceRead

    /// A timer that is not set; nil if the kernel has none left.
    init?(_ clock: clockid_t, _ ring: @escaping @Sendable () -> Void) {
        let descriptor = timerfd_create(clock, CInt(TFD_NONBLOCK) | CInt(TFD_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        self.source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor,
            queue: DispatchQueue(label: "statemachine.deadline")
        )
        self.source.setCancelHandler { close(descriptor) }
        self.source.setEventHandler {
            var count: UInt64 = 0
            // Reading fails if it was set anew meanwhile; the kernel reports a clock that was set
            // as an error.
            let size = read(descriptor, &count, MemoryLayout.size(ofValue: count))
            if size > 0 || platform_errno() == ECANCELED { ring() }
        }
        self.source.activate()
    }

    deinit { self.source.cancel() }

    func set(after delay: Duration) {
        let (seconds, attoseconds) = delay.components
        var time = itimerspec()
        time.it_value.tv_sec = Int(max(0, seconds))
        // Zero would disarm it.
        time.it_value.tv_nsec = max(seconds > 0 ? 0 : 1, Int(attoseconds / 1_000_000_000))
        timerfd_settime(self.descriptor, 0, &time, nil)
    }

    func stop() {
        var never = itimerspec()
        timerfd_settime(self.descriptor, 0, &never, nil)
    }

    /// Rings whenever the wall clock is set, and for no other reason.
    func ringWhenTheClockIsSet() {
        var time = itimerspec()
        time.it_value.tv_sec = Int.max
        let flags = CInt(TFD_TIMER_ABSTIME) | CInt(TFD_TIMER_CANCEL_ON_SET)
        timerfd_settime(self.descriptor, flags, &time, nil)
    }
}
#endif

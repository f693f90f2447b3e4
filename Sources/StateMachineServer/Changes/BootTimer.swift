import CLinux
import Dispatch
import Glibc

/// Rings once after a time in which the machine may have slept: a timer of the kernel's, `CLOCK_BOOTTIME`.
///
/// Until then it costs no wake-up.
///
/// `@unchecked Sendable`: a source may be cancelled from anywhere.
final class BootTimer: @unchecked Sendable {
    private let source: any DispatchSourceRead

    /// Rings after `delay`, unless it is stopped before; nil if the kernel has no timer left.
    init?(after delay: Duration, _ ring: @escaping @Sendable () -> Void) {
        let descriptor = timerfd_create(CLOCK_BOOTTIME, CInt(TFD_NONBLOCK) | CInt(TFD_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        let (seconds, attoseconds) = delay.components
        var time = itimerspec()
        time.it_value.tv_sec = Int(max(0, seconds))
        // Zero would disarm it.
        time.it_value.tv_nsec = max(seconds > 0 ? 0 : 1, Int(attoseconds / 1_000_000_000))
        timerfd_settime(descriptor, 0, &time, nil)
        self.source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor,
            queue: DispatchQueue(label: "statemachine.deadline")
        )
        self.source.setCancelHandler { close(descriptor) }
        let source = self.source
        source.setEventHandler {
            source.cancel()
            ring()
        }
        source.activate()
    }

    func stop() { self.source.cancel() }

    deinit { self.source.cancel() }
}

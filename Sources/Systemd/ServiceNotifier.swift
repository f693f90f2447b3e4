internal import CSystemd
internal import Glibc

/// Tells the service manager how the service is doing: sd_notify(3).
///
/// Every method sends one datagram and may wait for the manager to accept it, so none belongs on an
/// event loop. Without a manager (`$NOTIFY_SOCKET` is not set) nothing is sent, without an error.
package struct ServiceNotifier: Sendable {
    package init() {}

    /// Start-up, or reloading, is finished: the service is usable.
    package func ready() throws(NotifyError) { try self.send("READY=1") }

    /// The service reloads its configuration; ``ready()`` ends that.
    package func reloading() throws(NotifyError) {
        var now = timespec()
        // Fails only for a clock that does not exist.
        clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
        try self.send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// The service begins to shut down.
    package func stopping() throws(NotifyError) { try self.send("STOPPING=1") }

    /// The service does not start: a sentence for people, the error number if there was one, and the
    /// status with which the process is going to exit.
    package func failed(_ why: String, errno code: CInt?, exitStatus: CInt) throws(NotifyError) {
        var lines = ["STATUS=\(Self.oneLine(why))", "EXIT_STATUS=\(exitStatus)"]
        if let code { lines.append("ERRNO=\(code)") }
        try self.send(lines.joined(separator: "\n"))
    }

    /// One line about what the service is doing, for people; shown by `systemctl status`.
    package func status(_ text: String) throws(NotifyError) {
        try self.send("STATUS=\(Self.oneLine(text))")
    }

    /// The service is alive, by its own probe.
    package func watchdog() throws(NotifyError) { try self.send("WATCHDOG=1") }

    /// Starting or stopping takes longer than the unit allows: this much more from now on.
    package func extendTimeout(by duration: Duration) throws(NotifyError) {
        try self.send("EXTEND_TIMEOUT_USEC=\(duration.microseconds)")
    }

    /// Puts a descriptor into the manager's store, where it outlives the process.
    ///
    /// The next process receives it under that name, which several may share. The manager keeps a
    /// duplicate, and says nothing if it has no room.
    package func store(_ descriptor: CInt, as name: String) throws(NotifyError) {
        try self.send("FDSTORE=1\nFDNAME=\(name)\nFDPOLL=0", with: [descriptor])
    }

    /// Removes all descriptors of that name from the manager's store.
    package func removeFromStore(_ name: String) throws(NotifyError) {
        try self.send("FDSTOREREMOVE=1\nFDNAME=\(name)")
    }

    /// Waits until the manager has processed all that was sent.
    ///
    /// - Throws: `NotifyError` with `ETIMEDOUT` if it has not.
    package func settle(within duration: Duration) throws(NotifyError) {
        let result = sd_notify_barrier(0, UInt64(clamping: duration.microseconds))
        guard result >= 0 else { throw NotifyError(code: -result, assignments: "BARRIER=1") }
    }

    /// Whether there is a manager to notify.
    package var isHeard: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// How many characters of a text are sent.
    ///
    /// 900: at four bytes each they fit, with the rest, into the 4096 that systemd reads of a
    /// message; it ignores a longer one.
    private static let textLength = 900

    /// Each assignment is one line: line ends in the text become spaces.
    private static func oneLine(_ text: String) -> String {
        String(String(text.unicodeScalars.prefix(self.textLength)).map { $0.isNewline ? " " : $0 })
    }

    private func send(_ assignments: String, with descriptors: [CInt] = []) throws(NotifyError) {
        let result =
            descriptors.isEmpty
            ? sd_notify(0, assignments)
            : sd_pid_notify_with_fds(0, 0, assignments, descriptors, UInt32(descriptors.count))
        guard result >= 0 else { throw NotifyError(code: -result, assignments: assignments) }
    }
}

/// The service manager could not be notified.
package struct NotifyError: Error, CustomStringConvertible {
    package let code: Int32
    package let assignments: String

    package var description: String {
        "the service manager did not accept \(self.assignments) (errno \(self.code))"
    }
}

extension Duration {
    fileprivate var microseconds: Int64 {
        self.components.seconds * 1_000_000 + self.components.attoseconds / 1_000_000_000_000
    }
}

/// How often the service manager expects a sign of life: sd_watchdog_enabled(3).
package enum WatchdogInterval {
    /// The unit's `WatchdogSec=`; nil if no sign of life is expected from this process.
    package static var requested: Duration? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }
}

internal import CSystemd

/// Tells the service manager how the service is doing: sd_notify(3).
///
/// Every method sends one datagram and may wait for the manager to take it, so none belongs on an
/// event loop. Without a manager (`$NOTIFY_SOCKET` is not set) nothing is sent and nothing is wrong.
package struct ServiceNotifier: Sendable {
    package init() {}

    /// Start-up is finished: the service can be used.
    package func ready() throws(NotifyError) { try self.send("READY=1") }

    /// The service begins to shut down.
    package func stopping() throws(NotifyError) { try self.send("STOPPING=1") }

    /// One line about what the service is doing, for people; shown by `systemctl status`.
    package func status(_ text: String) throws(NotifyError) {
        let line = String(text.map { $0.isNewline ? " " : $0 })
        try self.send("STATUS=\(line)")
    }

    private func send(_ assignments: String) throws(NotifyError) {
        let result = sd_notify(0, assignments)
        guard result >= 0 else { throw NotifyError(code: -result, assignments: assignments) }
    }
}

/// The service manager could not be told.
package struct NotifyError: Error, CustomStringConvertible {
    package let code: Int32
    package let assignments: String

    package var description: String {
        "the service manager did not take \(self.assignments) (errno \(self.code))"
    }
}

import FoundationEssentials
import Glibc
import StateMachineProtocol
import Systemd

/// Connections that were taken off their channels, to be left with the service manager.
///
/// Its descriptors are closed by ``close()``, or by ``sayGoodbye()``.
struct OutgoingConnections: Sendable {
    let record: HandOverRecord
    /// In the order of the record's connections.
    let descriptors: [CInt]

    /// How long the manager may take to deal with them.
    ///
    /// 5 s: many times what 512 descriptors take, a fraction of a unit's time to stop. Not tuned.
    static let timeout = Duration.seconds(5)

    /// Goes into the store last; if it is kept, there was room for all.
    private static let probeName = "probe"

    /// Puts all of them into the manager's store, and waits until it has dealt with them.
    ///
    /// - Returns: whether they are there.
    /// - Throws: `NotifyError`, `SealedMemoryError` or an encoding error; then too, nothing of them
    ///   may be left there: ``withdraw(_:)``.
    func store(_ notifier: ServiceNotifier) throws -> Bool {
        guard notifier.isHeard else { return false }
        let memory = try SealedMemory.make(self.record.encoded(), name: HandedSockets.recordName)
        defer { Glibc.close(memory) }
        try notifier.store(memory, as: HandedSockets.recordName)
        for descriptor in self.descriptors {
            try notifier.store(descriptor, as: HandedSockets.connectionName)
        }
        // The manager silently closes what it does not keep. So it is asked to keep one end of a
        // pipe, and the other end shows whether it does.
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { return false }
        defer { Glibc.close(ends[0]) }
        do {
            defer { Glibc.close(ends[1]) }
            try notifier.store(ends[1], as: Self.probeName)
            try notifier.settle(within: Self.timeout)
        }
        var probe = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        let isKept = poll(&probe, 1, 0) == 0
        try notifier.removeFromStore(Self.probeName)
        return isKept
    }

    /// Removes whatever is there of them from the manager's store.
    static func withdraw(_ notifier: ServiceNotifier) throws {
        for name in [HandedSockets.recordName, HandedSockets.connectionName, Self.probeName] {
            try notifier.removeFromStore(name)
        }
    }

    func close() {
        for descriptor in self.descriptors { Glibc.close(descriptor) }
    }

    /// Ends them: what is left of a line, then `bye`, as far as the sockets take it at once.
    func sayGoodbye() {
        let bye = ServerLine.bye(.restart) { $0.number(.retryMs, ServerLimits.retryMs) }
        for (descriptor, connection) in zip(self.descriptors, self.record.connections) {
            let rest = Array(connection.unsent)
            let isWhole = rest.isEmpty || Output.send(rest[...], to: descriptor) == rest.count
            // A client that does not read sees the end in an incomplete line, which it has to throw
            // away.
            if isWhole { _ = Output.send(bye[...], to: descriptor) }
            shutdown(descriptor, CInt(SHUT_RDWR))
        }
        self.close()
    }
}

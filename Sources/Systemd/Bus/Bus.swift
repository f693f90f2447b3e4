internal import CSystemd
internal import Glibc

/// A connection directly to a service manager's socket, with no bus in between: sd-bus(3).
///
/// The manager sends all its signals to every such connection; there is no need to subscribe.
final class Bus {
    /// How long an answer may take.
    ///
    /// 20 s: a manager that reloads all its units answers within a few; D-Bus itself has 25.
    private static let timeout: UInt64 = 20_000_000

    private let pointer: OpaquePointer

    init(_ address: ManagerAddress) throws(BusError) {
        var pointer: OpaquePointer?
        let result = sd_bus_new(&pointer)
        guard result >= 0, let pointer else { throw .lost(-result) }
        self.pointer = pointer
        for result in [sd_bus_set_address(pointer, address.text), sd_bus_start(pointer)] {
            guard result >= 0 else { throw .lost(-result) }
        }
    }

    deinit { sd_bus_close_unref(self.pointer) }

    /// Readable when something has come; only poll it.
    var descriptor: CInt { sd_bus_get_fd(self.pointer) }

    /// Calls a method of an object, and waits for the reply.
    ///
    /// Signals that come meanwhile are kept for ``nextSignal()``.
    func call(
        _ interface: String,
        _ member: String,
        at path: String,
        _ fill: (BusMessage) throws(BusError) -> Void = { (_) throws(BusError) in }
    ) throws(BusError) -> BusMessage {
        var pointer: OpaquePointer?
        let made = sd_bus_message_new_method_call(
            self.pointer,
            &pointer,
            "org.freedesktop.systemd1",
            path,
            interface,
            member
        )
        guard made >= 0, let pointer else { throw self.isOpen ? .lost(-made) : .lost(ENOTCONN) }
        let message = BusMessage(pointer)
        try fill(message)
        var error = sd_bus_error()
        defer { sd_bus_error_free(&error) }
        var reply: OpaquePointer?
        let result = withExtendedLifetime(message) {
            sd_bus_call(self.pointer, message.pointer, Self.timeout, &error, &reply)
        }
        guard result >= 0, let reply else { throw self.failure(result, error) }
        return BusMessage(reply)
    }

    /// A property of an object, which `read` takes from the front of the answer.
    func property<Value>(
        _ interface: String,
        _ name: String,
        type: String,
        at path: String,
        _ read: (BusMessage) throws(BusError) -> Value
    ) throws(BusError) -> Value {
        var error = sd_bus_error()
        defer { sd_bus_error_free(&error) }
        var reply: OpaquePointer?
        let result = sd_bus_get_property(
            self.pointer,
            "org.freedesktop.systemd1",
            path,
            interface,
            name,
            &error,
            &reply,
            type
        )
        guard result >= 0, let reply else { throw self.failure(result, error) }
        return try read(BusMessage(reply))
    }

    /// The next signal that has come; nil if there is none.
    func nextSignal() throws(BusError) -> BusMessage? {
        while true {
            var pointer: OpaquePointer?
            let result = sd_bus_process(self.pointer, &pointer)
            guard result >= 0 else { throw .lost(-result) }
            let message = pointer.map { BusMessage($0) }
            guard result > 0 else { return nil }
            guard self.isOpen else { throw .lost(ECONNRESET) }
            if let message, sd_bus_message_is_signal(message.pointer, nil, nil) > 0 {
                return message
            }
        }
    }

    private var isOpen: Bool { sd_bus_is_open(self.pointer) > 0 }

    private func failure(_ result: CInt, _ error: sd_bus_error) -> BusError {
        // A signal to the process may also end the wait: the call is then repeated.
        let isBroken = !self.isOpen || [-ETIMEDOUT, -EINTR].contains(result)
        guard !isBroken, let name = error.name else { return .lost(-result) }
        return .refused(
            name: String(cString: name),
            sentence: error.message.map { String(cString: $0) } ?? String(cString: name)
        )
    }
}

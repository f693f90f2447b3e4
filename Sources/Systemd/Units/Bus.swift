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

    /// The answer that has a property of an object at its front.
    func property(
        _ name: String,
        _ type: String,
        of interface: String,
        at path: String
    ) throws(BusError) -> BusMessage {
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
        return BusMessage(reply)
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

/// A request to the service manager failed.
package enum BusError: Error, Hashable, CustomStringConvertible {
    /// There is no connection, or it broke: whether the manager has carried it out is unknown.
    case lost(CInt)
    /// The manager refused; its error's name and message.
    case refused(name: String, sentence: String)
    /// A message could not be built, or what came is not as expected.
    case malformed(String)
    /// The waiting caller has given up.
    case cancelled

    package var description: String {
        switch self {
        case .lost(let code): "no connection to systemd (\(String(cString: strerror(code))))"
        case .refused(_, let sentence): "systemd says: \(sentence)"
        case .malformed(let what): what
        case .cancelled: "the call to systemd was cancelled"
        }
    }

    /// Throws if a function of sd-bus returned less than zero while a message was built or read.
    static func check(_ result: CInt, _ what: @autoclosure () -> String) throws(BusError) {
        guard result >= 0 else {
            throw .malformed("\(what()) (\(String(cString: strerror(-result))))")
        }
    }
}

/// The manager's methods: org.freedesktop.systemd1(5).
extension Bus {
    private static let manager = "/org/freedesktop/systemd1"
    private static let managerInterface = "org.freedesktop.systemd1.Manager"

    /// The object of a unit.
    static func path(of unit: String) -> String {
        var path: UnsafeMutablePointer<CChar>?
        defer { free(path) }
        guard sd_bus_path_encode("\(self.manager)/unit", unit, &path) >= 0, let path else {
            return ""
        }
        return String(cString: path)
    }

    /// Whether the machine, or the user's session, is going down.
    func isStopping() throws(BusError) -> Bool {
        try self.property("SystemState", "s", of: Self.managerInterface, at: Self.manager).text()
            == "stopping"
    }

    func stop(_ unit: String) throws(BusError) {
        _ = try self.call(Self.managerInterface, "StopUnit", at: Self.manager) {
            (message) throws(BusError) in
            try message.append(unit)
            try message.append("replace")
        }
    }

    func resetFailed(_ unit: String) throws(BusError) {
        _ = try self.call(Self.managerInterface, "ResetFailedUnit", at: Self.manager) {
            (message) throws(BusError) in
            try message.append(unit)
        }
    }

    /// The loaded units whose names match one of the glob(7) patterns.
    func units(matching patterns: [String]) throws(BusError) -> [UnitStatus] {
        let reply = try self.call(Self.managerInterface, "ListUnitsByPatterns", at: Self.manager) {
            (message) throws(BusError) in
            try message.append([String]())
            try message.append(patterns)
        }
        let row = "ssssssouso"
        return try reply.elements(of: "(\(row))") { () throws(BusError) in
            try reply.members(of: row) { () throws(BusError) in
                let name = try reply.text()
                // The description, and the load state.
                _ = (try reply.text(), try reply.text())
                let (active, sub) = (try reply.text(), try reply.text())
                // The unit that it follows, and its object.
                _ = (try reply.text(), try reply.text("o"))
                let job = try reply.number32()
                _ = (try reply.text(), try reply.text("o"))
                return UnitStatus(name: name, active: active, sub: sub, hasJob: job != 0)
            }
        }
    }

    func process(of service: String) throws(BusError) -> ServiceProcess {
        let result = try self.property("Result", "s", of: service).text()
        let code = try self.property("ExecMainCode", "i", of: service).signed()
        let status = try self.property("ExecMainStatus", "i", of: service).signed()
        let end: ServiceProcess.End =
            switch code {
            case CInt(CLD_EXITED): .exited(Int(status))
            case CInt(CLD_KILLED), CInt(CLD_DUMPED): .killed(signal: Int(status))
            default: .none
            }
        return ServiceProcess(
            result: result,
            end: end,
            started: try self.time("ExecMainStartTimestampMonotonic", of: service),
            ended: try self.time("ExecMainExitTimestampMonotonic", of: service)
        )
    }

    /// The fields that the unit adds to each of its journal lines.
    func logFields(of service: String) throws(BusError) -> [String] {
        let reply = try self.property("LogExtraFields", "aay", of: service)
        return try reply.elements(of: "ay") { () throws(BusError) in
            String(decoding: try reply.bytes(), as: UTF8.self)
        }
    }

    private func time(_ name: String, of service: String) throws(BusError) -> Duration {
        let microseconds = try self.property(name, "t", of: service).number()
        return .microseconds(Int64(clamping: microseconds))
    }

    private func property(
        _ name: String,
        _ type: String,
        of service: String
    ) throws(BusError) -> BusMessage {
        let path = Self.path(of: service)
        return try self.property(name, type, of: "org.freedesktop.systemd1.Service", at: path)
    }
}

/// A D-Bus message, to be filled or to be read from its front: sd_bus_message(3).
final class BusMessage {
    /// Owned by the message.
    let pointer: OpaquePointer

    /// Takes ownership of the pointer.
    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { sd_bus_message_unref(self.pointer) }

    // MARK: What it is

    /// The object that it is about; empty if there is none.
    var path: String { sd_bus_message_get_path(self.pointer).map { String(cString: $0) } ?? "" }

    var member: String { sd_bus_message_get_member(self.pointer).map { String(cString: $0) } ?? "" }

    // MARK: Filling

    func append(_ text: String) throws(BusError) {
        // The other side would take the part before it for the whole.
        guard !text.utf8.contains(0) else { throw .malformed("a text contains a NUL byte") }
        let result = text.withCString {
            sd_bus_message_append_basic(self.pointer, Self.code("s"), $0)
        }
        try BusError.check(result, "a text cannot be sent")
    }

    func append(_ texts: [String]) throws(BusError) {
        try self.fill("a", of: "s") { () throws(BusError) in
            for text in texts { try self.append(text) }
        }
    }

    /// Fills a container: `a` of elements, `r` of members, `v` of one value.
    func fill(
        _ type: Unicode.Scalar,
        of contents: String,
        _ body: () throws(BusError) -> Void
    ) throws(BusError) {
        try BusError.check(
            sd_bus_message_open_container(self.pointer, Self.code(type), contents),
            "\(type) of \(contents) cannot be sent"
        )
        try body()
        try BusError.check(
            sd_bus_message_close_container(self.pointer),
            "\(type) of \(contents) cannot be sent"
        )
    }

    // MARK: Reading

    /// The next text: a string, or an object path with `o`.
    func text(_ type: Unicode.Scalar = "s") throws(BusError) -> String {
        var text: UnsafePointer<CChar>?
        let result = sd_bus_message_read_basic(self.pointer, Self.code(type), &text)
        try BusError.check(result, "a text was expected")
        return text.map { String(cString: $0) } ?? ""
    }

    func number() throws(BusError) -> UInt64 { try self.basic("t", 0) }

    func number32() throws(BusError) -> UInt32 { try self.basic("u", 0) }

    func signed() throws(BusError) -> Int32 { try self.basic("i", 0) }

    /// The bytes of the next array.
    func bytes() throws(BusError) -> [UInt8] {
        var base: UnsafeRawPointer?
        var count = 0
        let result = sd_bus_message_read_array(self.pointer, Self.code("y"), &base, &count)
        try BusError.check(result, "bytes were expected")
        return Array(UnsafeRawBufferPointer(start: base, count: count))
    }

    /// The elements of the next array.
    func elements<Element>(
        of contents: String,
        _ body: () throws(BusError) -> Element
    ) throws(BusError) -> [Element] {
        var elements: [Element] = []
        try self.enter("a", of: contents)
        while sd_bus_message_at_end(self.pointer, 0) == 0 { elements.append(try body()) }
        try self.leave()
        return elements
    }

    /// The members of the next structure.
    func members<Whole>(
        of contents: String,
        _ body: () throws(BusError) -> Whole
    ) throws(BusError) -> Whole {
        try self.enter("r", of: contents)
        let whole = try body()
        try self.leave()
        return whole
    }

    private func enter(_ type: Unicode.Scalar, of contents: String) throws(BusError) {
        let result = sd_bus_message_enter_container(self.pointer, Self.code(type), contents)
        try BusError.check(result, "\(type) of \(contents) was expected")
    }

    private func leave() throws(BusError) {
        try BusError.check(
            sd_bus_message_exit_container(self.pointer),
            "the message is longer than expected"
        )
    }

    private func basic<Value: BitwiseCopyable>(
        _ type: Unicode.Scalar,
        _ zero: Value
    ) throws(BusError) -> Value {
        var value = zero
        let result = sd_bus_message_read_basic(self.pointer, Self.code(type), &value)
        try BusError.check(result, "a value of type \(type) was expected")
        return value
    }

    private static func code(_ type: Unicode.Scalar) -> CChar {
        CChar(truncatingIfNeeded: type.value)
    }
}

/// How to reach a service manager: its own socket, which only its user can open.
package struct ManagerAddress: Hashable, Sendable {
    package let socket: String

    package init(socket: String) { self.socket = socket }

    /// The system's manager, which only root can reach.
    package static var system: ManagerAddress { ManagerAddress(socket: "/run/systemd/private") }

    /// The manager of this process's user; nil if there is no runtime directory.
    package static var user: ManagerAddress? {
        guard let directory = getenv("XDG_RUNTIME_DIR") else { return nil }
        return ManagerAddress(socket: "\(String(cString: directory))/systemd/private")
    }

    /// Whether the socket exists.
    package var isThere: Bool { access(self.socket, F_OK) == 0 }

    /// As a D-Bus address: bytes that are not plain become a per cent sign and two digits.
    var text: String {
        "unix:path="
            + self.socket.utf8.map { byte in
                let isPlain = Self.plain.contains(byte)
                let digits = String(byte, radix: 16)
                return isPlain
                    ? String(Unicode.Scalar(byte)) : "%\(digits.count == 1 ? "0" : "")\(digits)"
            }
            .joined()
    }

    private static let plain = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.*".utf8
    )
}

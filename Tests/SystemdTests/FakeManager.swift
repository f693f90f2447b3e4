import CSystemd
import Foundation
import Synchronization
import TestSupport

@testable import Systemd

/// A service manager of the test's own: it answers at a socket as systemd would, as far as these
/// tests need.
///
/// `bus` and `listener` belong to its thread; the rest is guarded.
final class FakeManager: Sendable {
    struct Unit {
        var active: String
        var sub: String
        var job: UInt32 = 0
        var result = "success"
        var code: Int32 = 0
        var status: Int32 = 0
    }

    private struct State {
        var units: [String: Unit] = [:]
        /// The units whose changes have not been signalled yet.
        var news: [String] = []
        /// The units that have a new job to announce.
        var asked: [String] = []
        var stopped: [String] = []
        var connections = 0
        var isToHangUp = false
        var isAway = false
        var isStopped = false
    }

    let path: String
    private let state = Mutex(State())

    init(_ path: String) throws {
        self.path = path
        let listener = try Descriptor.socket(named: "manager", at: path)
        _ = fcntl(listener.number, F_SETFL, O_NONBLOCK)
        Thread { self.serve(listener) }.start()
    }

    // MARK: What a test does with it

    /// Changes a unit, or unloads it if nil; `telling` sends a signal.
    func set(_ name: String, _ unit: Unit?, telling: Bool = true) {
        self.state.withLock { state in
            state.units[name] = unit
            if telling { state.news.append(name) }
        }
    }

    /// Announces a job for a unit, as after `systemctl stop`.
    func ask(_ name: String) { self.state.withLock { $0.asked.append(name) } }

    /// Closes the connections, as when systemd restarts.
    func hangUp() { self.state.withLock { $0.isToHangUp = true } }

    /// Closes each connection as soon as it is made.
    func goAway() { self.state.withLock { $0.isAway = true } }

    func stop() { self.state.withLock { $0.isStopped = true } }

    var stopped: [String] { self.state.withLock { $0.stopped } }
    /// Whether there are changes or jobs that have not been signalled yet.
    var isNews: Bool { self.state.withLock { !$0.news.isEmpty || !$0.asked.isEmpty } }
    var connections: Int { self.state.withLock { $0.connections } }

    // MARK: Serving

    private func serve(_ listener: Descriptor) {
        var bus: OpaquePointer?
        while !self.state.withLock({ $0.isStopped }) {
            if let present = bus {
                let hangsUp = self.state.withLock { state in
                    defer { state.isToHangUp = false }
                    return state.isToHangUp
                }
                if hangsUp || !self.turn(present) {
                    sd_bus_close_unref(present)
                    bus = nil
                }
            } else if let descriptor = Self.accepted(listener.number) {
                let isAway = self.state.withLock { state in
                    state.connections += 1
                    return state.isAway
                }
                if isAway { close(descriptor) } else { bus = Self.bus(descriptor) }
            }
            usleep(2000)
        }
        if let bus { sd_bus_close_unref(bus) }
        unlink(self.path)
    }

    /// Answers the calls that have arrived and sends signals; false if the other side is gone.
    private func turn(_ bus: OpaquePointer) -> Bool {
        while true {
            var pointer: OpaquePointer?
            let result = sd_bus_process(bus, &pointer)
            guard result >= 0 else { return false }
            if let pointer { self.answer(BusMessage(pointer), bus) }
            if result == 0 { break }
        }
        let (news, asked) = self.state.withLock { state in
            defer { (state.news, state.asked) = ([], []) }
            return (state.news, state.asked)
        }
        for name in asked { Self.tellAsked(name, bus) }
        for name in news { Self.tell(name, bus) }
        return true
    }

    private static func tellAsked(_ name: String, _ bus: OpaquePointer) {
        var pointer: OpaquePointer?
        let interface = "org.freedesktop.systemd1.Manager"
        sd_bus_message_new_signal(bus, &pointer, "/org/freedesktop/systemd1", interface, "JobNew")
        guard let pointer else { return }
        var number: UInt32 = 3
        sd_bus_message_append_basic(pointer, CChar(UInt8(ascii: "u")), &number)
        for (type, text) in [("o", "/job/3"), ("s", name)] {
            _ = text.withCString {
                sd_bus_message_append_basic(pointer, CChar(type.utf8.first ?? 0), $0)
            }
        }
        sd_bus_send(bus, pointer, nil)
        sd_bus_message_unref(pointer)
    }

    private static func tell(_ name: String, _ bus: OpaquePointer) {
        var pointer: OpaquePointer?
        sd_bus_message_new_signal(
            bus,
            &pointer,
            Bus.path(of: name),
            "org.freedesktop.DBus.Properties",
            "PropertiesChanged"
        )
        guard let pointer else { return }
        sd_bus_send(bus, pointer, nil)
        sd_bus_message_unref(pointer)
    }

    private func answer(_ call: BusMessage, _ bus: OpaquePointer) {
        var pointer: OpaquePointer?
        sd_bus_message_new_method_return(call.pointer, &pointer)
        guard let pointer else { return }
        let reply = BusMessage(pointer)
        do {
            if let error = try self.fill(reply, for: call) {
                _ = withExtendedLifetime(call) {
                    sd_bus_reply_method_errno(call.pointer, error, nil)
                }
            } else {
                _ = withExtendedLifetime(reply) { sd_bus_send(bus, reply.pointer, nil) }
            }
        } catch {
            sd_bus_reply_method_errno(call.pointer, EINVAL, nil)
        }
    }

    /// Fills in the answer, or returns an error number instead.
    private func fill(_ reply: BusMessage, for call: BusMessage) throws(BusError) -> CInt? {
        switch call.member {
        case "StopUnit":
            let name = try call.text()
            self.state.withLock { $0.stopped.append(name) }
            Self.appendPath("/job/2", to: reply)
        case "ListUnitsByPatterns":
            _ = try call.elements(of: "s") { () throws(BusError) in try call.text() }
            let patterns = try call.elements(of: "s") { () throws(BusError) in try call.text() }
            let units = self.state.withLock { state in
                state.units.filter { name, _ in
                    patterns.contains { fnmatch($0, name, FNM_NOESCAPE) == 0 }
                }
            }
            try reply.fill("a", of: "(ssssssouso)") { () throws(BusError) in
                for (name, unit) in units { try Self.append(name, unit, to: reply) }
            }
        case "Get":
            _ = try call.text()
            let property = try call.text()
            let unit = self.state.withLock { state in
                state.units.first { Bus.path(of: $0.key) == call.path }?.value
            }
            try Self.appendValue(of: property, unit, to: reply)
        default: return EOPNOTSUPP
        }
        return nil
    }

    private static func appendValue(
        of property: String,
        _ unit: Unit?,
        to reply: BusMessage
    ) throws(BusError) {
        switch property {
        case "Result":
            try reply.fill("v", of: "s") { () throws(BusError) in
                try reply.append(unit?.result ?? "success")
            }
        case "SystemState":
            try reply.fill("v", of: "s") { () throws(BusError) in try reply.append("stopping") }
        case "ExecMainCode": try self.append("i", unit?.code ?? 0, to: reply)
        case "ExecMainStatus": try self.append("i", unit?.status ?? 0, to: reply)
        case "ExecMainStartTimestampMonotonic": try self.append("t", UInt64(1_000_000), to: reply)
        case "ExecMainExitTimestampMonotonic": try self.append("t", UInt64(1_500_000), to: reply)
        default:
            try reply.fill("v", of: "aay") { () throws(BusError) in
                try reply.fill("a", of: "ay") { () throws(BusError) in
                    _ = sd_bus_message_append_array(
                        reply.pointer,
                        CChar(UInt8(ascii: "y")),
                        "A=b",
                        3
                    )
                }
            }
        }
    }

    /// A value of one basic type, preceded by it.
    private static func append<Value: BitwiseCopyable>(
        _ type: Character,
        _ value: Value,
        to reply: BusMessage
    ) throws(BusError) {
        try reply.fill("v", of: String(type)) { () throws(BusError) in
            _ = withUnsafePointer(to: value) {
                sd_bus_message_append_basic(reply.pointer, CChar(type.asciiValue ?? 0), $0)
            }
        }
    }

    private static func append(
        _ name: String,
        _ unit: Unit,
        to reply: BusMessage
    ) throws(BusError) {
        try reply.fill("r", of: "ssssssouso") { () throws(BusError) in
            for text in [name, "", "loaded", unit.active, unit.sub, ""] { try reply.append(text) }
            self.appendPath("/unit", to: reply)
            _ = withUnsafePointer(to: unit.job) {
                sd_bus_message_append_basic(reply.pointer, CChar(UInt8(ascii: "u")), $0)
            }
            try reply.append("")
            self.appendPath("/", to: reply)
        }
    }

    private static func appendPath(_ path: String, to reply: BusMessage) {
        _ = path.withCString {
            sd_bus_message_append_basic(reply.pointer, CChar(UInt8(ascii: "o")), $0)
        }
    }

    // MARK: Its socket

    private static func accepted(_ listener: CInt) -> CInt? {
        let descriptor = accept(listener, nil, nil)
        return descriptor >= 0 ? descriptor : nil
    }

    private static func bus(_ descriptor: CInt) -> OpaquePointer? {
        var bus: OpaquePointer?
        var id = sd_id128_t()
        sd_id128_randomize(&id)
        sd_bus_new(&bus)
        sd_bus_set_fd(bus, descriptor, descriptor)
        sd_bus_set_server(bus, 1, id)
        sd_bus_start(bus)
        return bus
    }
}

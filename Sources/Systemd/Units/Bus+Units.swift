internal import CSystemd
internal import Glibc

/// The manager's methods: org.freedesktop.systemd1(5).
extension Bus {
    private static let manager = "/org/freedesktop/systemd1"
    private static let managerInterface = "org.freedesktop.systemd1.Manager"
    private static let serviceInterface = "org.freedesktop.systemd1.Service"

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
        try self.property(Self.managerInterface, "SystemState", type: "s", at: Self.manager) {
            (reply) throws(BusError) in try reply.text() == "stopping"
        }
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
        let path = Self.path(of: service)
        let result = try self.serviceProperty("Result", "s", path) { (reply) throws(BusError) in
            try reply.text()
        }
        let code = try self.serviceProperty("ExecMainCode", "i", path) { (reply) throws(BusError) in
            try reply.signed()
        }
        let status = try self.serviceProperty("ExecMainStatus", "i", path) {
            (reply) throws(BusError) in try reply.signed()
        }
        let end: ServiceProcess.End =
            switch code {
            case CInt(CLD_EXITED): .exited(Int(status))
            case CInt(CLD_KILLED), CInt(CLD_DUMPED): .killed(signal: Int(status))
            default: .none
            }
        return ServiceProcess(
            result: result,
            end: end,
            started: try self.time("ExecMainStartTimestampMonotonic", path),
            ended: try self.time("ExecMainExitTimestampMonotonic", path)
        )
    }

    /// The fields that the unit adds to each of its journal lines.
    func logFields(of service: String) throws(BusError) -> [String] {
        try self.serviceProperty("LogExtraFields", "aay", Self.path(of: service)) {
            (reply) throws(BusError) in
            try reply.elements(of: "ay") { () throws(BusError) in
                String(decoding: try reply.bytes(), as: UTF8.self)
            }
        }
    }

    private func time(_ name: String, _ path: String) throws(BusError) -> Duration {
        let microseconds = try self.serviceProperty(name, "t", path) { (reply) throws(BusError) in
            try reply.number()
        }
        return .microseconds(Int64(clamping: microseconds))
    }

    private func serviceProperty<Value>(
        _ name: String,
        _ type: String,
        _ path: String,
        _ read: (BusMessage) throws(BusError) -> Value
    ) throws(BusError) -> Value {
        try self.property(Self.serviceInterface, name, type: type, at: path, read)
    }
}

import Glibc
import SystemPackage

/// The system's users.
enum Users {
    /// The name of the user with that number; nil if there is none.
    static func name(_ uid: UInt32) -> String? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        // 16 KiB: getpwuid_r(3) has nothing to say on a limit; glibc asks for 1 KiB to begin with.
        var buffer = [CChar](repeating: 0, count: 16384)
        guard getpwuid_r(uid, &entry, &buffer, buffer.count, &result) == 0,
            let name = result?.pointee.pw_name
        else { return nil }
        return String(cString: name)
    }

    /// The number of the user of that name; nil if there is none.
    static func uid(_ name: String) -> UInt32? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16384)
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &result) == 0 else { return nil }
        return result?.pointee.pw_uid
    }
}

/// Looks up what runs in existing processes.
enum Programs {
    /// The most bytes read of a file in /proc; names have 16, control groups' paths rarely 100.
    private static let limit = 4096

    /// The name of the command, and the systemd unit that it runs in if it is a service: `deploy`, `deploy.service`.
    ///
    /// - Parameters:
    ///   - pid: of a process whose connection exists, so that the number is still its own.
    ///   - uid: the process's user; if the number is another user's here, the process is on another
    ///     machine, or in a container.
    /// - Returns: the words; empty if nothing can be seen.
    static func names(pid: Int32, uid: UInt32) -> [String] {
        var status = stat()
        guard stat("/proc/\(pid)", &status) == 0, status.st_uid == uid else { return [] }
        let command = self.text("/proc/\(pid)/comm").map { String($0.prefix { $0 != "\n" }) }
        let unit = self.text("/proc/\(pid)/cgroup").flatMap { self.service(in: $0) }
        return [command, unit].compactMap(\.self)
    }

    /// The service that a process's cgroups(7) text names: `0::/system.slice/deploy.service`.
    static func service(in groups: String) -> String? {
        groups.split(separator: "\n").first { $0.hasPrefix("0::") }
            .flatMap { $0.split(separator: "/").last { $0.hasSuffix(".service") } }
            .map(String.init)
    }

    /// The service of a unit, perhaps after a user's manager; nil if it is none, as for a session.
    static func service(of unit: String) -> String? {
        unit.split(separator: "/").last.flatMap { $0.hasSuffix(".service") ? String($0) : nil }
    }

    private static func text(_ path: String) -> String? {
        do {
            let file = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
            return try file.closeAfter {
                var buffer = [UInt8](repeating: 0, count: self.limit)
                let count = try buffer.withUnsafeMutableBytes { try file.read(into: $0) }
                return String(decoding: buffer[..<count], as: UTF8.self)
            }
        } catch {
            // It is gone by now, or hidden from us.
            return nil
        }
    }
}

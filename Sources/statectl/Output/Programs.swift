import Glibc
import SystemPackage

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

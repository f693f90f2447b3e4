import Glibc
import SystemPackage

/// What runs in processes that are there.
enum Programs {
    /// Bytes that are read of a file in /proc; a name has sixteen, a control group's path rarely a hundred.
    private static let limit = 4096

    /// The name of the command, and the systemd unit that it runs in if it is a service: `deploy`, `deploy.service`.
    ///
    /// - Parameters:
    ///   - pid: of a process whose connection is there, so the number means it.
    ///   - uid: whose it is; what is somebody else's is of another machine, or of a container.
    /// - Returns: the words; none where nothing can be seen.
    static func names(pid: Int32, uid: UInt32) -> [String] {
        var status = stat()
        guard stat("/proc/\(pid)", &status) == 0, status.st_uid == uid else { return [] }
        let command = self.text("/proc/\(pid)/comm").map { String($0.prefix { $0 != "\n" }) }
        let unit = self.text("/proc/\(pid)/cgroup").flatMap { self.service(in: $0) }
        return [command, unit].compactMap(\.self)
    }

    /// The service in what cgroups(7) says of a process: `0::/system.slice/deploy.service`.
    static func service(in groups: String) -> String? {
        groups.split(separator: "\n").first { $0.hasPrefix("0::") }
            .flatMap { $0.split(separator: "/").last { $0.hasSuffix(".service") } }
            .map(String.init)
    }

    /// The service of a unit that may have a user's manager before it; nil of what is none, as a session is.
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
            // It has gone meanwhile, or is not shown to us.
            return nil
        }
    }
}

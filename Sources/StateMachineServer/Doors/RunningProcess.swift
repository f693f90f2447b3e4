import Glibc
import StateMachineCore

/// A process as /proc shows it.
struct RunningProcess {
    let pid: Int32
    let uid: UInt32

    /// `SO_PEERPIDFD`, which Glibc's headers have not got: Linux 6.5.
    private static let peerPidfd: CInt = 77

    /// Bytes that a name has here at most.
    ///
    /// 48: fifteen for the kernel, each of which may be shown as the three of U+FFFD.
    static let nameBytes = 48

    /// Bytes that are read of a file: a name has sixteen, a control group's path rarely a hundred.
    private static let fileBytes = 4096

    /// What runs at the other end of a socket; nil if that is not to be seen.
    ///
    /// Numbers of processes are used again, so what is read counts only if the process that connected had its
    /// number still, afterwards.
    func program(at socket: CInt) -> Program? {
        // 0 stands for a process of another container.
        guard self.pid > 0 else { return nil }
        var process: CInt = -1
        var length = socklen_t(MemoryLayout.size(ofValue: process))
        let isSure = getsockopt(socket, SOL_SOCKET, Self.peerPidfd, &process, &length) == 0
        // Older kernels do not have it; where the process has gone there is nothing to be read.
        guard isSure || errno == ENOPROTOOPT else { return nil }
        defer { if isSure { close(process) } }
        let directory = open("/proc/\(self.pid)", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return nil }
        defer { close(directory) }
        let comm = Self.text("comm", in: directory).flatMap(Self.name)
        let unit = Self.text("cgroup", in: directory).flatMap(ControlGroup.unit)
        guard comm != nil || unit != nil else { return nil }
        guard isSure ? Self.hasNumber(process) : self.isOfUser(directory) else { return nil }
        return Program(comm: comm, unit: unit)
    }

    /// Whether a process has its number still: it runs, or nobody has asked how it ended.
    private static func hasNumber(_ process: CInt) -> Bool {
        var ended = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
        guard poll(&ended, 1, 0) != 0 else { return true }
        let facts = self.text("\(process)", in: AT_FDCWD, under: "/proc/self/fdinfo/") ?? ""
        return facts.split(separator: "\n").contains { line in
            line.hasPrefix("Pid:") && !line.hasSuffix("-1")
        }
    }

    /// Whether what has the number is of the user: all that can be told where the kernel does not say more.
    private func isOfUser(_ directory: CInt) -> Bool {
        var status = stat()
        return fstat(directory, &status) == 0 && status.st_uid == self.uid
    }

    /// A name without the end of its line, which it may have others of.
    private static func name(_ text: String) -> String? {
        let name = text.hasSuffix("\n") ? String(text.dropLast()) : text
        return name.isEmpty ? nil : name
    }

    private static func text(_ name: String, in directory: CInt, under path: String = "") -> String?
    {
        let file = openat(directory, path + name, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: self.fileBytes, alignment: 1) { buffer in
            let count = read(file, buffer.baseAddress, buffer.count)
            guard count > 0 else { return nil }
            // A process may call itself anything.
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}

import Glibc
import StateMachineCore

/// A process as /proc shows it.
struct RunningProcess {
    let pid: Int32
    let uid: UInt32

    /// `SO_PEERPIDFD` of Linux 6.5, which Glibc's headers lack.
    private static let peerPidfd: CInt = 77

    /// The most bytes that a name has here.
    ///
    /// 48: the kernel's fifteen, each of which may be shown as the three of U+FFFD.
    static let nameBytes = 48

    /// Bytes to read of a file: a name has sixteen, a control group's path rarely a hundred.
    private static let fileBytes = 4096

    /// The program at the other end of a socket; nil if it cannot be seen.
    ///
    /// Process ids are reused, so what is read counts only if the process that connected still has
    /// its id afterwards.
    func program(at socket: CInt) -> Program? {
        // 0 stands for a process in another container.
        guard self.pid > 0 else { return nil }
        var process: CInt = -1
        var length = socklen_t(MemoryLayout.size(ofValue: process))
        let isSure = getsockopt(socket, SOL_SOCKET, Self.peerPidfd, &process, &length) == 0
        // Older kernels lack it; if the process has gone there is nothing to read.
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

    /// Whether a process still has its id: it runs, or nobody has waited for it.
    private static func hasNumber(_ process: CInt) -> Bool {
        var ended = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
        guard poll(&ended, 1, 0) != 0 else { return true }
        let facts = self.text("\(process)", in: AT_FDCWD, under: "/proc/self/fdinfo/") ?? ""
        return facts.split(separator: "\n").contains { line in
            line.hasPrefix("Pid:") && !line.hasSuffix("-1")
        }
    }

    /// Whether what has the id belongs to the user, which is all that an older kernel can tell.
    private func isOfUser(_ directory: CInt) -> Bool {
        var status = stat()
        return fstat(directory, &status) == 0 && status.st_uid == self.uid
    }

    /// A name without its final newline; it may contain others.
    private static func name(_ text: String) -> String? {
        let name = text.hasSuffix("\n") ? String(text.dropLast()) : text
        return name.isEmpty ? nil : name
    }

    static func text(_ name: String, in directory: CInt, under path: String = "") -> String? {
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

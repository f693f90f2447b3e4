internal import SystemPackage

/// A process as `/proc` shows it.
package struct ProcessEntry: Hashable, Sendable {
    /// The most bytes that are read of a file of it.
    ///
    /// 4 MiB: more than execve(2) takes for an environment by default.
    private static let limit = 4 << 20

    package let pid: Int32
    package let session: Int32
    /// When it began, in the kernel's ticks since the machine's start.
    package let start: UInt64
    /// Whether it has ended and has not been waited for.
    package let isDead: Bool

    package static func == (left: ProcessEntry, right: ProcessEntry) -> Bool {
        left.pid == right.pid && left.start == right.start
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.pid)
        hasher.combine(self.start)
    }

    /// The process of that number; nil if there is none, or it cannot be seen.
    package init?(_ pid: Int32) {
        guard let text = Self.text(of: "/proc/\(pid)/stat") else { return nil }
        // The name stands in parentheses and may contain anything.
        guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
            .map { String(decoding: $0, as: UTF8.self) }
        // From the third of proc(5) on: state, ppid, pgrp, session, …, starttime.
        guard fields.count > 19, let session = Int32(fields[3]), let start = UInt64(fields[19])
        else { return nil }
        self.pid = pid
        self.session = session
        self.start = start
        self.isDead = fields[0] == "Z" || fields[0] == "X"
    }

    /// Whether this process is still there, and has not ended.
    package var isThere: Bool { ProcessEntry(self.pid).map { $0 == self && !$0.isDead } ?? false }

    /// All processes that can be seen.
    package static func all() -> [ProcessEntry] {
        FilePath("/proc").names.compactMap { Int32($0).flatMap { ProcessEntry($0) } }
    }

    /// Whether it was started with that variable, as far as this process may look.
    package func has(_ variable: String, _ value: String) -> Bool {
        let wanted = Array("\(variable)=\(value)".utf8)
        return Self.text(of: "/proc/\(self.pid)/environ")?
            .split(separator: 0).contains { $0.elementsEqual(wanted) } ?? false
    }

    private static func text(of path: String) -> [UInt8]? {
        // It may have ended just now, or belong to somebody else.
        FileDescriptor.whole(path, atMost: Self.limit)
    }
}

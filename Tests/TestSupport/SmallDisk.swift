import Subprocess

/// A file system of one megabyte, in memory, that a test may fill.
package struct SmallDisk: Sendable {
    package let path: String
    /// A state directory on it.
    package var state: String { "\(self.path)/state" }
    private var filler: String { "\(self.path)/filler" }

    /// Whether this process may mount one; even root in a container may not.
    package static func isAllowed() async throws -> Bool {
        try await withTemporaryDirectory { directory in
            guard try await Self.mount(at: directory) else { return false }
            try await Self.unmount(directory)
            return true
        }
    }

    /// Mounts one, and unmounts it afterwards.
    package static func with(_ body: (SmallDisk) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            guard try await Self.mount(at: directory) else {
                throw TestFailure("cannot mount a tmpfs at \(directory)")
            }
            do {
                try await body(SmallDisk(path: directory))
            } catch {
                try await Self.unmount(directory)
                throw error
            }
            try await Self.unmount(directory)
        }
    }

    /// Fills it completely.
    package func fill() async throws {
        // Ends when nothing more fits.
        _ = try await runTool(.name("sh"), ["-c", "cat /dev/zero >\(self.filler)"])
    }

    /// Frees the room that ``fill()`` took.
    package func empty() async throws {
        let result = try await runTool(.name("rm"), [self.filler])
        guard result.status == .exited(0) else { throw TestFailure("rm: \(result.errors)") }
    }

    /// Mounts it for reading only (`ro`), or for writing again (`rw`).
    package func remount(_ option: String) async throws {
        let result = try await runTool(.name("mount"), ["-o", "remount,\(option)", self.path])
        guard result.status == .exited(0) else { throw TestFailure("mount: \(result.errors)") }
    }

    private static func mount(at path: String) async throws -> Bool {
        let arguments = ["-t", "tmpfs", "-o", "size=1m", "none", path]
        return try await runTool(.name("mount"), arguments).status == .exited(0)
    }

    private static func unmount(_ path: String) async throws {
        _ = try await runTool(.name("umount"), ["-l", path])
    }
}

import Foundation

/// A directory of a test's own, short enough for socket paths, removed afterwards.
package func withTemporaryDirectory<Result>(
    _ body: (String) async throws -> Result
) async throws -> Result {
    let path = "/tmp/sm-\(UInt32.random(in: 0...UInt32.max))"
    try makeDirectory(path)
    defer {
        // Failing to remove it is no reason to fail a test.
        try? FileManager.default.removeItem(atPath: path)
    }
    return try await body(path)
}

/// Makes a directory that others cannot write to, whatever the umask.
package func makeDirectory(_ path: String) throws {
    try FileManager.default.createDirectory(
        atPath: path,
        withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o755]
    )
}

/// A copy of a directory as it is now: what a crash of the process at this moment would leave.
package func leftovers(of directory: String) throws -> String {
    let copy = "\(directory)-\(UInt32.random(in: 0...UInt32.max))"
    try FileManager.default.copyItem(atPath: directory, toPath: copy)
    return copy
}

/// What `swiftc` says about a program when it only checks it; empty if nothing.
///
/// Not with Subprocess, whose lock ThreadSanitizer does not know, nor with Foundation's `Process`,
/// of which one run in nine hung on a loaded computer because Dispatch had no thread left.
package func diagnostics(of file: String, options: [String]) async throws -> String {
    let compiler = try SpawnedProcess(
        ["swiftc", "-typecheck", "-swift-version", "6"] + options + [file],
        output: file + ".diagnostics"
    )
    _ = try await compiler.ended()
    return compiler.said
}

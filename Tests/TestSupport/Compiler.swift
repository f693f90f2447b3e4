import Subprocess

/// What `swiftc` says of a program when it only checks it; empty if there is nothing to say.
package func diagnostics(of file: String, options: [String]) async throws -> String {
    let result = try await Subprocess.run(
        .name("swiftc"),
        arguments: Arguments(["-typecheck", "-swift-version", "6"] + options + [file]),
        output: .discarded,
        // A compiler that says more than this has been given another program.
        error: .string(limit: 1 << 20)
    )
    return result.standardError
}

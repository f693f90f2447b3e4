import Foundation

/// What `swiftc` says of a program when it only checks it; empty if there is nothing to say.
package func diagnostics(of file: String, options: [String]) async throws -> String {
    try await blocking {
        let compiler = Process()
        let errors = Pipe()
        compiler.executableURL = URL(filePath: "/usr/bin/env")
        compiler.arguments = ["swiftc", "-typecheck", "-swift-version", "6"] + options + [file]
        compiler.standardError = errors
        try compiler.run()
        let said = try errors.fileHandleForReading.readToEnd() ?? Data()
        compiler.waitUntilExit()
        return String(decoding: said, as: UTF8.self)
    }
}

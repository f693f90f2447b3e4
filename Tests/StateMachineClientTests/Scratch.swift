import Glibc
import Processes
import SystemPackage

/// A directory of one test's own.
struct Scratch {
    let path: String

    /// Makes it, runs `body`, and removes it with the files in it.
    static func with<Result>(_ body: (Scratch) async throws -> Result) async throws -> Result {
        var template = Array("/tmp/statectl-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw ScriptedDaemon.Failure(errnoCode: errno)
        }
        let bytes = template.dropLast().map { UInt8(bitPattern: $0) }
        let scratch = Scratch(path: String(decoding: bytes, as: UTF8.self))
        defer { scratch.remove() }
        return try await body(scratch)
    }

    /// The names of the files in it, sorted.
    var names: [String] { FilePath(self.path).names.sorted() }

    func read(_ name: String) throws -> String {
        guard let file = fopen("\(self.path)/\(name)", "r") else {
            throw ScriptedDaemon.Failure(errnoCode: errno)
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    func write(_ text: String, to name: String) throws {
        guard let file = fopen("\(self.path)/\(name)", "w") else {
            throw ScriptedDaemon.Failure(errnoCode: errno)
        }
        defer { fclose(file) }
        guard fputs(text, file) >= 0 else { throw ScriptedDaemon.Failure(errnoCode: errno) }
    }

    /// Makes a FIFO whose reader waits until ``open(_:)``.
    func makeFIFO(_ name: String) throws {
        guard mkfifo("\(self.path)/\(name)", 0o600) == 0 else {
            throw ScriptedDaemon.Failure(errnoCode: errno)
        }
    }

    /// Lets the reader of a FIFO go on, waiting for that reader if necessary.
    func open(_ name: String) {
        if let file = fopen("\(self.path)/\(name)", "w") { fclose(file) }
    }

    private func remove() {
        for name in self.names { unlink("\(self.path)/\(name)") }
        rmdir(self.path)
    }
}

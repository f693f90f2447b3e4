import Glibc
import Processes
import StateMachineProtocol
import SystemPackage

/// A small file that is replaced as a whole: whoever reads it sees the old text or the new one.
struct WholeFile: Sendable {
    /// The most bytes that are read of a file.
    ///
    /// 4 MiB: lines of changes are the most of it, and three of the longest have less than half a
    /// megabyte.
    static let limit = 4 << 20

    private let directory: String
    private let name: String

    /// The file of that name; the last component of the directory's path is not followed if it is a link.
    init(_ name: String, in directory: String) {
        self.directory = directory
        self.name = name
    }

    var path: String { "\(self.directory)/\(self.name)" }

    /// What it holds; nil if there is no file, `null` if that is not JSON.
    func json() throws(RunnerError) -> JSONValue? {
        do throws(Errno) {
            return try self.read().map {
                JSONValue(parsing: String(decoding: $0, as: UTF8.self)) ?? .null
            }
        } catch {
            throw RunnerError(cannot: "read \(self.path)", error)
        }
    }

    private func read() throws(Errno) -> [UInt8]? {
        let directory = try self.open()
        defer { close(directory) }
        let file = openat(directory, self.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw Errno(rawValue: errno)
        }
        defer { close(file) }
        let bytes = try Self.system {
            try FileDescriptor(rawValue: file).bytes(atMost: Self.limit + 1)
        }
        guard bytes.count <= Self.limit else { throw .fileTooLarge }
        return bytes
    }

    /// Writes a new file for this user alone, as ``write(_:mode:isDurable:)`` does.
    func keep(_ text: String, isDurable: Bool) throws(RunnerError) {
        do throws(Errno) {
            try self.write(text, mode: 0o600, isDurable: isDurable)
        } catch {
            throw RunnerError(cannot: "write \(self.path)", error)
        }
    }

    /// Writes a new file and renames it; `isDurable`: a loss of power must not undo that.
    func write(_ text: String, mode: mode_t, isDurable: Bool) throws(Errno) {
        let directory = try self.open()
        defer { close(directory) }
        // Nobody can have put a file, or a link to one, where this one will be.
        let temporary = ".\(self.name).\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = openat(directory, temporary, flags, mode)
        guard file >= 0 else { throw Errno(rawValue: errno) }
        do throws(Errno) {
            defer { close(file) }
            // Whatever the umask.
            guard fchmod(file, mode) == 0 else { throw Errno(rawValue: errno) }
            _ = try Self.system { try FileDescriptor(rawValue: file).writeAll(text.utf8) }
            guard !isDurable || fdatasync(file) == 0,
                renameat(directory, temporary, directory, self.name) == 0
            else { throw Errno(rawValue: errno) }
        } catch {
            unlinkat(directory, temporary, 0)
            throw error
        }
        guard !isDurable || fsync(directory) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Removes it, if it is there.
    func remove() throws(Errno) {
        guard unlink(self.path) == 0 || errno == ENOENT else { throw Errno(rawValue: errno) }
    }

    private func open() throws(Errno) -> CInt {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let directory = Glibc.open(self.directory, flags)
        guard directory >= 0 else { throw Errno(rawValue: errno) }
        return directory
    }

    private static func system<Value>(_ body: () throws -> Value) throws(Errno) -> Value {
        do {
            return try body()
        } catch {
            throw error as? Errno ?? .ioError
        }
    }
}

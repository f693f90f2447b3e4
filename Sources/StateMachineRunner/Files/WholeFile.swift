import Glibc
import StateMachineClient
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

    /// The file's content; nil if there is no file.
    func read() throws(Errno) -> [UInt8]? {
        let place = try self.open()
        defer { close(place) }
        let file = openat(place, self.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw Errno(rawValue: errno)
        }
        defer { close(file) }
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor(rawValue: file).bytes(atMost: Self.limit + 1)
        } catch {
            throw error as? Errno ?? .ioError
        }
        guard bytes.count <= Self.limit else { throw .fileTooLarge }
        return bytes
    }

    /// Writes a new file and renames it; `isDurable`: a loss of power must not undo that.
    func write(_ text: String, mode: mode_t, isDurable: Bool) throws(Errno) {
        let place = try self.open()
        defer { close(place) }
        // Nobody can have put a file, or a link to one, where this one will be.
        let temporary = ".\(self.name).\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = openat(place, temporary, flags, mode)
        guard file >= 0 else { throw Errno(rawValue: errno) }
        do throws(Errno) {
            defer { close(file) }
            // Whatever the umask.
            guard fchmod(file, mode) == 0 else { throw Errno(rawValue: errno) }
            try Self.write(Array(text.utf8), to: file)
            guard !isDurable || fdatasync(file) == 0 else { throw Errno(rawValue: errno) }
        } catch {
            unlinkat(place, temporary, 0)
            throw error
        }
        guard renameat(place, temporary, place, self.name) == 0 else {
            let error = Errno(rawValue: errno)
            unlinkat(place, temporary, 0)
            throw error
        }
        guard !isDurable || fsync(place) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Removes it, if it is there.
    func remove() throws(Errno) {
        guard unlink(self.path) == 0 || errno == ENOENT else { throw Errno(rawValue: errno) }
    }

    private func open() throws(Errno) -> CInt {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let place = Glibc.open(self.directory, flags)
        guard place >= 0 else { throw Errno(rawValue: errno) }
        return place
    }

    private static func write(_ bytes: [UInt8], to file: CInt) throws(Errno) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Errno(rawValue: errno) }
            rest = rest.dropFirst(count)
        }
    }
}

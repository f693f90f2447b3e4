import Glibc
import SystemPackage

/// A file that declares a machine, as it lies on the disk.
public struct DeclarationFile: Sendable {
    /// The file cannot be read at all.
    public struct Unreadable: Error, Sendable {
        /// Which file, and why.
        public let sentence: String
    }

    /// Its path, as it was given.
    public let path: String
    /// Its content; of a file that is too long, one byte more than the limit.
    public let bytes: [UInt8]
    /// Whether anybody but root and this user may write it, or replace it: the directories above it
    /// count too, sticky or not.
    public let isWritableByOthers: Bool

    /// Where a machine's file is looked for; the first that exists counts.
    ///
    /// - Parameter instance: its name; nil for the unnamed one.
    /// - Returns: what the administrator wrote, then what came with a package.
    public static func defaultPaths(instance: String?) -> [String] {
        let name = instance.map { "\($0).machine.yaml" } ?? "machine.yaml"
        return ["/etc/statemachine/\(name)", "/usr/lib/statemachine/\(name)"]
    }

    /// Reads a file.
    public init(path: String) throws(Unreadable) {
        self.path = path
        if let kind = Self.kind(of: path) {
            throw Unreadable(sentence: "\(path) is \(kind), not a file that declares a machine")
        }
        do {
            // Non-blocking, in case something else has taken the file's place by now.
            let file = try FileDescriptor.open(
                FilePath(path),
                .readOnly,
                options: [.closeOnExec, .nonBlocking]
            )
            self.bytes = try file.closeAfter { try Self.bytes(of: file) }
        } catch {
            throw Unreadable(sentence: "cannot read \(path): \(error)")
        }
        self.isWritableByOthers = Self.isWritableByOthers(path)
    }

    /// What it says, or what is wrong with it.
    public var reading: DeclarationReading { self.reading(isStrict: false) }

    /// The same, if `isStrict` with warnings about matters of the author's choice.
    public func reading(isStrict: Bool) -> DeclarationReading {
        DeclarationReading(
            self.bytes,
            isWritableByOthers: self.isWritableByOthers,
            isStrict: isStrict
        )
    }

    /// What there is instead of a file; nil if it is a file, or there is nothing.
    private static func kind(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: return "a directory"
        case S_IFIFO: return "a FIFO"
        case S_IFSOCK: return "a socket"
        case S_IFCHR, S_IFBLK: return "a device"
        default: return "something else"
        }
    }

    private static func bytes(of file: FileDescriptor) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= DeclarationReading.maxBytes {
            let room = DeclarationReading.maxBytes + 1 - bytes.count
            let more = try [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }

    /// Checks the file itself and all directories above it, with links resolved.
    private static func isWritableByOthers(_ path: String) -> Bool {
        guard let resolved = realpath(path, nil) else { return true }
        defer { free(resolved) }
        var place = FilePath(String(cString: resolved))
        while true {
            var status = stat()
            guard stat(place.string, &status) == 0 else { return true }
            let isOurs = status.st_uid == 0 || status.st_uid == geteuid()
            guard isOurs, status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { return true }
            guard place.removeLastComponent() else { return false }
        }
    }
}

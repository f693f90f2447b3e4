import Glibc
package import SystemPackage

extension FileDescriptor {
    /// The bytes of a file, up to that many of them.
    package static func bytes(
        of path: String,
        atMost limit: Int,
        _ options: OpenOptions = []
    ) throws -> [UInt8] {
        let file = try self.open(FilePath(path), .readOnly, options: options.union(.closeOnExec))
        return try file.closeAfter { try file.bytes(atMost: limit) }
    }

    /// What is left to be read, up to that many bytes; `waiting` for it even if the descriptor is non-blocking, as
    /// whoever shares it may have made it.
    package func bytes(atMost limit: Int, waiting isWaiting: Bool = false) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let room = min(limit - bytes.count, 1 << 16)
            let more: [UInt8]
            do {
                more = try [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                    count = try self.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
            } catch Errno.resourceTemporarilyUnavailable where isWaiting {
                var wish = pollfd(fd: self.rawValue, events: Int16(POLLIN), revents: 0)
                poll(&wish, 1, -1)
                continue
            }
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }

    /// All bytes of a file; nil if it cannot be read, or has more than that.
    package static func whole(_ path: String, atMost limit: Int) -> [UInt8]? {
        let bytes = try? self.bytes(of: path, atMost: limit + 1, .nonBlocking)
        return bytes.flatMap { $0.count <= limit ? $0 : nil }
    }
}

extension FilePath {
    /// The names in this directory but its own and its parent's; none if it may not be read.
    package var names: [String] {
        guard let directory = opendir(self.string) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

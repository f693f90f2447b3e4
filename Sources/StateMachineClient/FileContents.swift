package import SystemPackage

extension FileDescriptor {
    /// The bytes of a file, up to that many of them.
    package static func bytes(
        of path: String,
        atMost limit: Int,
        _ options: OpenOptions = []
    ) throws -> [UInt8] {
        let file = try self.open(FilePath(path), .readOnly, options: options.union(.closeOnExec))
        return try file.closeAfter {
            var bytes: [UInt8] = []
            while bytes.count < limit {
                let room = min(limit - bytes.count, 1 << 16)
                let more = try [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                    count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
                if more.isEmpty { break }
                bytes += more
            }
            return bytes
        }
    }
}

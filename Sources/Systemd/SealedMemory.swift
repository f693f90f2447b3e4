internal import CSystemd
internal import Glibc

/// Immutable bytes in a descriptor: memfd_create(2) with all its seals.
package enum SealedMemory {
    private static var seals: CInt { F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE }

    /// A descriptor of those bytes, owned by the caller; `/proc` shows it under that name.
    package static func make(_ bytes: [UInt8], name: String) throws(SealedMemoryError) -> CInt {
        let descriptor = memfd_create(name, UInt32(MFD_CLOEXEC | MFD_ALLOW_SEALING))
        guard descriptor >= 0 else { throw SealedMemoryError("cannot make memory: errno \(errno)") }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                let code = errno
                close(descriptor)
                throw SealedMemoryError("cannot fill \(bytes.count) bytes of memory: errno \(code)")
            }
            rest = rest.dropFirst(count)
        }
        guard fcntl(descriptor, F_ADD_SEALS, Self.seals) == 0 else {
            let code = errno
            close(descriptor)
            throw SealedMemoryError("cannot seal memory: errno \(code)")
        }
        return descriptor
    }

    /// The bytes of a descriptor that ``make(_:name:)`` made.
    package static func read(_ descriptor: CInt) throws(SealedMemoryError) -> [UInt8] {
        let found = fcntl(descriptor, F_GET_SEALS)
        guard found >= 0, found & Self.seals == Self.seals else {
            throw SealedMemoryError("it is not sealed memory")
        }
        let size = Int(try Self.status(of: descriptor).st_size)
        var offset = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while offset < size, let base = buffer.baseAddress {
                let read = pread(descriptor, base + offset, size - offset, off_t(offset))
                guard read > 0 else { break }
                offset += read
            }
            count = offset
        }
        guard bytes.count == size else { throw SealedMemoryError("it cannot be read") }
        return bytes
    }

    /// When ``make(_:name:)`` made it: the time since 1970 by the wall clock.
    package static func made(_ descriptor: CInt) throws(SealedMemoryError) -> Duration {
        let time = try Self.status(of: descriptor).st_mtim
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func status(of descriptor: CInt) throws(SealedMemoryError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw SealedMemoryError("it cannot be examined: errno \(errno)")
        }
        return status
    }
}

/// Memory could not be made, or is not what it should be; says why.
package struct SealedMemoryError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

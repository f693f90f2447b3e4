/// The names of an enum's cases, read from the type itself, where the compiler stores them for
/// mirrors.
///
/// Mirrors only give the name of a value's case; here there is no value. The layout is that of
/// Swift's ABI (docs/ABI/TypeMetadata.rst of the compiler): it is the same on all platforms.
package enum EnumCases {
    /// Whether the type is an enum; optionals do not count.
    package static func isEnum(_ type: Any.Type) -> Bool {
        // The first word is the metadata kind: 0x201 for an enum, 0x202 for an optional.
        unsafeBitCast(type, to: UnsafeRawPointer.self).load(as: UInt.self) == 0x201
    }

    /// Which of the cases a value is, counted as ``names(of:)`` lists them; nil if it is not an
    /// enum.
    ///
    /// Calls what the compiler's own mirrors call: the type's `getEnumTag`, which follows the size
    /// and flags in its value witness table (docs/ABI/TypeLayout.rst, lib/IRGen/ValueWitness.h).
    package static func tag<Value>(of value: Value) -> UInt32? {
        guard self.isEnum(Value.self) else { return nil }
        let metadata = unsafeBitCast(Value.self, to: UnsafeRawPointer.self)
        let word = MemoryLayout<UInt>.size
        let witnesses = metadata.load(fromByteOffset: -word, as: UnsafeRawPointer.self)
        // Eight functions, the size and the stride come before the flags.
        let flags = witnesses.load(fromByteOffset: 10 * word, as: UInt32.self)
        guard flags & self.hasEnumWitnesses != 0 else { return nil }
        typealias GetEnumTag = @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> UInt32
        let getEnumTag = witnesses.load(fromByteOffset: 10 * word + 8, as: GetEnumTag.self)
        return withUnsafePointer(to: value) { getEnumTag($0, metadata) }
    }

    package static var hasEnumWitnesses: UInt32 { 0x0020_0000 }

    /// The names: cases with values first, then the others, each in source order.
    ///
    /// - Returns: nil if the type is not an enum, or if the program was built without the metadata
    ///   that mirrors read (`-disable-reflection-metadata`).
    package static func names(of type: Any.Type) -> [String]? {
        guard self.isEnum(type) else { return nil }
        let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        let word = MemoryLayout<UInt>.size
        let descriptor = metadata.load(fromByteOffset: word, as: UnsafeRawPointer.self)
        // The lower five bits of the flags are the kind again.
        guard descriptor.load(as: UInt32.self) & 0x1F == 18,
            let fields = descriptor.pointee(at: 16)
        else { return nil }
        let payloads = descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xFF_FFFF
        let empties = descriptor.load(fromByteOffset: 24, as: UInt32.self)
        let size = Int(fields.load(fromByteOffset: 10, as: UInt16.self))
        let count = fields.load(fromByteOffset: 12, as: UInt32.self)
        guard count == payloads + empties, size == 12 else { return nil }
        var names: [String] = []
        for index in 0..<Int(count) {
            // A field record: flags, the type of the values, the name.
            guard let name = fields.pointee(at: 16 + index * size + 8) else { return nil }
            names.append(String(cString: name.assumingMemoryBound(to: CChar.self)))
        }
        return names
    }
}

extension UnsafeRawPointer {
    /// What a relative pointer points to; nil if nothing.
    fileprivate func pointee(at offset: Int) -> UnsafeRawPointer? {
        let place = self + offset
        let distance = place.load(as: Int32.self)
        return distance == 0 ? nil : place + Int(distance)
    }
}

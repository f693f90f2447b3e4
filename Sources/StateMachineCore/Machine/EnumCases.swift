/// What the cases of an enum are called, read off the type itself, where the compiler has written them down for
/// mirrors.
///
/// Mirrors tell the name of a value's case only; here nobody has a value. The layout is that of Swift's ABI
/// (docs/ABI/TypeMetadata.rst of the compiler): it is the same on all platforms.
@usableFromInline
package enum EnumCases {
    /// Whether values of the type are cases; an optional's are not.
    @inlinable
    package static func isEnum(_ type: Any.Type) -> Bool {
        // The first word says what kind of type it is. 0x201 is an enum's, and 0x202 an optional's.
        unsafeBitCast(type, to: UnsafeRawPointer.self).load(as: UInt.self) == 0x201
    }

    /// Which of the cases a value is, counted as ``names(of:)`` lists them; nil of what is no enum.
    ///
    /// What the compiler's own mirrors ask: the type's `getEnumTag`, which is found behind its size and flags in the table
    /// of what can be done with its values (docs/ABI/TypeLayout.rst, lib/IRGen/ValueWitness.h).
    @inlinable
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

    @inlinable package static var hasEnumWitnesses: UInt32 { 0x0020_0000 }

    /// The names, those of cases with values first, else in the order of the source.
    ///
    /// - Returns: nil of what is no enum, or if the program was built without what mirrors read
    ///   (`-disable-reflection-metadata`).
    package static func names(of type: Any.Type) -> [String]? {
        guard self.isEnum(type) else { return nil }
        let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        let word = MemoryLayout<UInt>.size
        let descriptor = metadata.load(fromByteOffset: word, as: UnsafeRawPointer.self)
        // Of the flags the lower five bits are the kind again.
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
            // Flags, the type of the values, the name.
            guard let name = fields.pointee(at: 16 + index * size + 8) else { return nil }
            names.append(String(cString: name.assumingMemoryBound(to: CChar.self)))
        }
        return names
    }
}

extension UnsafeRawPointer {
    /// What a relative pointer leads to; nil if to nothing.
    fileprivate func pointee(at offset: Int) -> UnsafeRawPointer? {
        let place = self + offset
        let distance = place.load(as: Int32.self)
        return distance == 0 ? nil : place + Int(distance)
    }
}

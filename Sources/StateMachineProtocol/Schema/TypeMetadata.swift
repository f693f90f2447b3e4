import StateMachineCore

/// What the compiler leaves in a program about a type, for mirrors.
///
/// Mirrors only say it of a value; here there is no value. The layout is that of Swift's ABI
/// (docs/ABI/TypeMetadata.rst of the compiler): it is the same on all platforms.
enum TypeMetadata {
    /// The names: cases with values first, then the others, each in source order.
    ///
    /// - Returns: nil if the type is not an enum, or if the program was built without the metadata
    ///   that mirrors read (`-disable-reflection-metadata`).
    static func namesOfCases(of type: Any.Type) -> [String]? {
        guard isEnum(type) else { return nil }
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
        let address = self + offset
        let distance = address.load(as: Int32.self)
        return distance == 0 ? nil : address + Int(distance)
    }
}

import CPlatform

/// Identifies the present boot of the machine.
package enum BootID {
    /// The ID that the unit passes in `$BOOT_ID` (`%b` in a unit), for `/proc/sys` may be hidden;
    /// else the kernel's; nil if there is neither.
    package static var current: String? {
        getenv("BOOT_ID").flatMap { Self.normalized(String(cString: $0)) }
            ?? self.read("/proc/sys/kernel/random/boot_id")
    }

    private static func read(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 64)
        guard fgets(&buffer, CInt(buffer.count), file) != nil else { return nil }
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return self.normalized(String(decoding: bytes, as: UTF8.self))
    }

    /// systemd writes it without the hyphens; nil if nothing is left.
    private static func normalized(_ text: String) -> String? {
        let digits = text.filter(\.isHexDigit).lowercased()
        return digits.isEmpty ? nil : digits
    }
}

internal import CSystemd
internal import Glibc

/// A descriptor that the service manager handed over at the start: sd_listen_fds_with_names(3).
///
/// It belongs to whoever takes it from the list; it is closed on exec.
package struct HandedDescriptor: Hashable, Sendable {
    /// Its name in the unit (`FileDescriptorName=`), or the one it was stored under.
    package let name: String
    package let descriptor: CInt

    package init(name: String, descriptor: CInt) {
        self.name = name
        self.descriptor = descriptor
    }

    /// All descriptors passed to this process, in the manager's order.
    ///
    /// Only the first call in a process returns any: the variables that announce them are removed,
    /// so that neither a child nor a second caller takes them for its own.
    package static func takeAll() -> [HandedDescriptor] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count > 0, let names else { return [] }
        defer { free(names) }
        return (0..<Int(count)).map { index in
            let name = names[index].map { String(cString: $0) } ?? ""
            free(names[index])
            return HandedDescriptor(name: name, descriptor: 3 + CInt(index))
        }
    }

    /// What it is, in words.
    package var kind: String { DescriptorKind(of: self.descriptor).description }
}

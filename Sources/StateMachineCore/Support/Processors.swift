import CLinux
import Glibc

/// What the process may run on.
package enum Processors {
    /// Whether they are several, as its first thread to ask sees it; a share of their time does not count.
    package static let areSeveral: Bool = {
        var set = cpu_set_t()
        // Fails where there are more processors than the set has room for.
        guard sched_getaffinity(0, MemoryLayout.size(ofValue: set), &set) == 0 else { return true }
        return withUnsafeBytes(of: set) { $0.lazy.map(\.nonzeroBitCount).reduce(0, +) } > 1
    }()
}

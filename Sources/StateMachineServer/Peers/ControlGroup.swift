/// Finds the systemd unit that a process runs in from its control groups.
///
/// See cgroups(7), and systemd's "Control Group APIs and Delegation".
enum ControlGroup {
    /// Bytes that a unit may have here, including a user's manager before it.
    ///
    /// 320: a unit's name has 255 at most.
    static let unitBytes = 320

    private static let suffixes = [".service", ".scope", ".socket", ".mount", ".swap"]

    /// The unit of `0::/system.slice/deploy.service`, or of a user's manager, as in
    /// `user@1000.service/deploy.service`; nil if it is in none.
    ///
    /// For a container it is the unit that the container runs in; what is below is the container's
    /// own.
    static func unit(in groups: String) -> String? {
        let lines = groups.split(separator: "\n")
        let path =
            lines.first { $0.hasPrefix("0::") }?.dropFirst(3)
            ?? lines.first { $0.contains(":name=systemd:") }?.split(separator: ":").last
        guard let path else { return nil }
        // Seen from inside a container, paths outside it begin like this.
        var parts = path.split(separator: "/").drop { $0 == ".." }
        guard let unit = self.takeUnit(&parts) else { return nil }
        let isManager = unit.hasPrefix("user@") && unit.hasSuffix(".service")
        let own = isManager ? self.takeUnit(&parts) : nil
        let name = own.map { "\(unit)/\($0)" } ?? unit
        return name.utf8.count <= self.unitBytes ? name : nil
    }

    /// Takes the first part that is no slice, if it is a unit.
    private static func takeUnit(_ parts: inout ArraySlice<Substring>) -> String? {
        parts = parts.drop { $0.hasSuffix(".slice") }
        // This stands before a name that could be taken for one of the kernel's files.
        guard let part = parts.popFirst() else { return nil }
        let name = part.hasPrefix("_") ? part.dropFirst() : part
        return self.suffixes.contains { name.hasSuffix($0) } ? String(name) : nil
    }
}

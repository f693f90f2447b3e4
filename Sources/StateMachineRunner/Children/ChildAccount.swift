import Glibc
import StateMachineDeclaration

/// The account that a command is run as.
struct ChildAccount: Hashable, Sendable {
    let user: uid_t?
    let group: gid_t?
    let groups: [gid_t]?
    /// HOME and the like, as systemd sets them for a service with `User=`.
    let variables: [String: String]

    private struct Entry {
        let name: String
        let user: uid_t
        let group: gid_t
        let home: String
        let shell: String
    }

    /// The size in bytes of an entry of the user database.
    ///
    /// 16 KiB: getpwnam_r(3) has nothing to say on a limit; glibc asks for 1 KiB to begin with.
    private static let bytes = 16384

    /// The most groups of one user.
    ///
    /// 65,536: the kernel's limit, by setgroups(2).
    private static let mostGroups = 65_536

    /// The account that a command names; nil if it names none.
    static func of(_ command: DeclaredCommand) throws(ChildStart.Failure) -> ChildAccount? {
        guard command.user != nil || command.group != nil else { return nil }
        let entry = try command.user.map { (name) throws(ChildStart.Failure) in
            guard let entry = Self.entry(of: name) else { throw .user }
            return entry
        }
        let group = try command.group.map { (name) throws(ChildStart.Failure) in
            guard let group = Self.group(of: name) else { throw .group }
            return group
        }
        return ChildAccount(
            user: entry?.user,
            group: group ?? entry?.group,
            groups: entry.map { Self.groups(of: $0) },
            variables: entry.map(Self.variables) ?? [:]
        )
    }

    /// This process's account, if it is not root's; only variables have to be set then.
    static func own() -> ChildAccount? {
        guard geteuid() != 0, let entry = Self.entry(of: "\(geteuid())") else { return nil }
        return ChildAccount(
            user: nil,
            group: nil,
            groups: nil,
            variables: Self.variables(of: entry)
        )
    }

    private static func variables(of entry: Entry) -> [String: String] {
        [
            "HOME": entry.home, "USER": entry.name, "LOGNAME": entry.name, "SHELL": entry.shell,
        ]
    }

    /// Looks an account up by name, else by number.
    private static func entry(of name: String) -> Entry? {
        var buffer = [CChar](repeating: 0, count: Self.bytes)
        var found = passwd()
        var result: UnsafeMutablePointer<passwd>?
        if getpwnam_r(name, &found, &buffer, buffer.count, &result) != 0 || result == nil {
            guard let number = uid_t(name),
                getpwuid_r(number, &found, &buffer, buffer.count, &result) == 0, result != nil
            else { return nil }
        }
        guard let name = found.pw_name, let home = found.pw_dir, let shell = found.pw_shell else {
            return nil
        }
        return Entry(
            name: String(cString: name),
            user: found.pw_uid,
            group: found.pw_gid,
            home: String(cString: home),
            shell: String(cString: shell)
        )
    }

    private static func group(of name: String) -> gid_t? {
        var buffer = [CChar](repeating: 0, count: Self.bytes)
        var found = Glibc.group()
        var result: UnsafeMutablePointer<Glibc.group>?
        if getgrnam_r(name, &found, &buffer, buffer.count, &result) == 0, result != nil {
            return found.gr_gid
        }
        return gid_t(name)
    }

    private static func groups(of entry: Entry) -> [gid_t] {
        var count: CInt = 64
        var groups = [gid_t](repeating: 0, count: Int(count))
        while getgrouplist(entry.name, entry.group, &groups, &count) < 0 {
            guard Int(count) > groups.count, Int(count) <= Self.mostGroups else { break }
            groups = [gid_t](repeating: 0, count: Int(count))
        }
        return Array(groups.prefix(Int(count)))
    }
}

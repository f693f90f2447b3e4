internal import CPlatform
internal import Glibc

/// Who may write a file or a directory besides its owner: one rule for all that others must not be able to replace.
package enum OtherWriters {
    /// As chmod(1) calls them: `g`, `o`, `go`; empty if nobody may.
    ///
    /// A group that has no other member than the owner is nobody else: many systems give each user one, and a umask
    /// of 002.
    ///
    /// - Parameter descriptor: one of it, which need not be open for reading.
    /// - Returns: what a `chmod` has to take away.
    package static func of(_ descriptor: CInt) -> String {
        var status = stat()
        // Of what cannot be examined nobody can say who may write it.
        guard fstat(descriptor, &status) == 0 else { return "go" }
        let hasGroup = status.st_mode & S_IWGRP != 0 && !self.isGroupTheOwners(descriptor, status)
        return (hasGroup ? "g" : "") + (status.st_mode & S_IWOTH != 0 ? "o" : "")
    }

    /// Whether the group is the one that the owner's account came with, and nobody else's.
    ///
    /// It has the owner's name then. Another group of one may have members that cannot be listed.
    private static func isGroupTheOwners(_ descriptor: CInt, _ status: stat) -> Bool {
        // With an access control list the group's bits stand for all whom that names.
        guard platform_has_no_list("/proc/self/fd/\(descriptor)") != 0 else { return false }
        guard let owner = Account(of: status.st_uid), owner.gid == status.st_gid,
            let group = AccountGroup(of: status.st_gid), group.name == owner.name,
            group.members.allSatisfy({ $0 == owner.name })
        else { return false }
        return Account.local.allSatisfy { $0.gid != status.st_gid || $0.name == owner.name }
    }
}

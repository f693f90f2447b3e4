internal import Glibc

/// An entry of the user database.
package struct Account: Sendable {
    package let name: String
    package let uid: UInt32
    package let gid: UInt32
    package let home: String
    package let shell: String

    /// The account of that name; nil if there is none.
    package init?(named name: String) {
        self.init { getpwnam_r(name, $0, $1, $2, $3) }
    }

    /// The account of that number; nil if there is none.
    package init?(of uid: UInt32) {
        self.init { getpwuid_r(uid, $0, $1, $2, $3) }
    }

    /// Those of /etc/passwd; a directory service does not list its own.
    package static var local: [Account] {
        guard let file = fopen("/etc/passwd", "re") else { return [] }
        defer { fclose(file) }
        var accounts: [Account] = []
        while let next = Account({ fgetpwent_r(file, $0, $1, $2, $3) }) { accounts.append(next) }
        return accounts
    }

    private init?(
        _ look: (
            UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
        ) -> CInt
    ) {
        let found = EntryBuffer.read { buffer, size -> (CInt, Account?) in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let result = look(&entry, buffer, size, &found)
            return (result, found == nil ? nil : Account(entry))
        }
        guard let found else { return nil }
        self = found
    }

    private init?(_ entry: passwd) {
        guard let name = entry.pw_name, let home = entry.pw_dir, let shell = entry.pw_shell
        else { return nil }
        (self.uid, self.gid) = (entry.pw_uid, entry.pw_gid)
        self.name = String(cString: name)
        self.home = String(cString: home)
        self.shell = String(cString: shell)
    }
}

/// Room for what an entry of the user or group database points to.
private enum EntryBuffer {
    /// The sizes in bytes that are tried, one after the other.
    ///
    /// 16 KiB: a user, and most groups; 16 MiB: a group of a million. getgrnam_r(3) has nothing to say on a limit.
    private static let sizes = [16 << 10, 256 << 10, 16 << 20]

    /// What `look` reads with the first of them that is large enough; it returns the error of the call as well.
    static func read<Entry>(
        _ look: (UnsafeMutablePointer<CChar>, Int) -> (result: CInt, entry: Entry?)
    ) -> Entry? {
        for size in self.sizes {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let (result, entry) = look(buffer, size)
            guard result == ERANGE else { return result == 0 ? entry : nil }
        }
        return nil
    }
}

/// An entry of the group database.
package struct AccountGroup: Sendable {
    package let name: String
    package let gid: UInt32
    package let members: [String]

    /// The group of that name; nil if there is none.
    package init?(named name: String) {
        self.init { getgrnam_r(name, $0, $1, $2, $3) }
    }

    /// The group of that number; nil if there is none.
    package init?(of gid: UInt32) {
        self.init { getgrgid_r(gid, $0, $1, $2, $3) }
    }

    private init?(
        _ look: (
            UnsafeMutablePointer<group>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<group>?>
        ) -> CInt
    ) {
        let found = EntryBuffer.read { buffer, size -> (CInt, AccountGroup?) in
            var entry = group()
            var found: UnsafeMutablePointer<group>?
            let result = look(&entry, buffer, size, &found)
            return (result, found == nil ? nil : AccountGroup(entry))
        }
        guard let found else { return nil }
        self = found
    }

    private init?(_ entry: group) {
        guard let name = entry.gr_name else { return nil }
        self.name = String(cString: name)
        self.gid = entry.gr_gid
        var (members, next) = ([String](), entry.gr_mem)
        while let member = next?.pointee {
            members.append(String(cString: member))
            next = next?.advanced(by: 1)
        }
        self.members = members
    }
}

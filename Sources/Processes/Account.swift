internal import Glibc

/// An entry of the user database.
package struct Account: Sendable {
    /// The size in bytes of an entry.
    ///
    /// 16 KiB: getpwnam_r(3) has nothing to say on a limit; glibc asks for 1 KiB to begin with.
    private static let bytes = 16384

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
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        // What the entry points to lies there.
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: Self.bytes)
        defer { buffer.deallocate() }
        guard look(&entry, buffer, Self.bytes, &found) == 0, found != nil,
            let name = entry.pw_name, let home = entry.pw_dir, let shell = entry.pw_shell
        else { return nil }
        (self.uid, self.gid) = (entry.pw_uid, entry.pw_gid)
        self.name = String(cString: name)
        self.home = String(cString: home)
        self.shell = String(cString: shell)
    }
}

/// An entry of the group database.
package struct AccountGroup: Sendable {
    /// The size in bytes of an entry.
    ///
    /// 64 KiB: a group of thousands.
    private static let bytes = 65_536

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
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        // What the entry points to lies there.
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: Self.bytes)
        defer { buffer.deallocate() }
        guard look(&entry, buffer, Self.bytes, &found) == 0, found != nil,
            let name = entry.gr_name
        else { return nil }
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

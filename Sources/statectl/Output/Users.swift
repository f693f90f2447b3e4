import Glibc

/// The system's users.
enum Users {
    /// The name of the user with that number; nil if there is none.
    static func name(_ uid: UInt32) -> String? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        // 16 KiB: getpwuid_r(3) has nothing to say on a limit; glibc asks for 1 KiB to begin with.
        var buffer = [CChar](repeating: 0, count: 16384)
        guard getpwuid_r(uid, &entry, &buffer, buffer.count, &result) == 0,
            let name = result?.pointee.pw_name
        else { return nil }
        return String(cString: name)
    }

    /// The number of the user of that name; nil if there is none.
    static func uid(_ name: String) -> UInt32? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16384)
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &result) == 0 else { return nil }
        return result?.pointee.pw_uid
    }
}

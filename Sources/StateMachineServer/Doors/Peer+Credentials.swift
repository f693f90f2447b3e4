import Glibc
import StateMachineCore

extension Peer {
    /// Who is at the other end of a connected Unix socket, as the kernel noted it at connect time.
    init(credentialsOf descriptor: CInt) throws(DaemonError) {
        // `struct ucred` of unix(7), which Swift's Glibc leaves out.
        var credentials: (pid: Int32, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            throw DaemonError(cannot: "read a peer's credentials", errno: errno)
        }
        self.init(uid: credentials.uid, pid: credentials.pid)
    }
}

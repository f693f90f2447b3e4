import Glibc
import StateMachineCore
import StateMachineProtocol

extension Peer {
    /// The user that stands for all that have no number in the daemon's user namespace.
    static let overflowUid =
        RunningProcess.text("overflowuid", in: AT_FDCWD, under: "/proc/sys/kernel/")
        .flatMap { UInt32($0.filter(\.isNumber)) } ?? 65534

    /// Whether it may release or take again what another connection of that peer has.
    func owns(_ other: Peer) -> Bool {
        self.uid == 0 || self.uid == other.uid && self.uid != Self.overflowUid
    }

    /// Who is at the other end of a connected Unix socket, and what runs there.
    ///
    /// The kernel noted the credentials at connect time.
    ///
    /// - Parameters:
    ///   - descriptor: the socket.
    ///   - program: what is known to run there; nil to look it up.
    /// - Throws: `DaemonError` if the kernel does not say.
    init(credentialsOf descriptor: CInt, knownAs program: Program? = nil) throws(DaemonError) {
        // `struct ucred` of unix(7), which Swift's Glibc leaves out.
        var credentials: (pid: Int32, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            throw DaemonError(cannot: "read a peer's credentials", errno: errno)
        }
        let (pid, uid) = (credentials.pid, credentials.uid)
        self.init(
            uid: uid,
            pid: pid,
            program: program ?? RunningProcess(pid: pid, uid: uid).program(at: descriptor)
        )
    }

    /// The same, with what lines say of it put together for all of them.
    var written: Peer {
        guard let program else { return self }
        let written = LineWriter.written(self)
        return Peer(
            uid: self.uid,
            pid: self.pid,
            program: Program(comm: program.comm, unit: program.unit, written: written)
        )
    }
}

import Glibc
import StateMachineCore
import StateMachineProtocol

extension Credentials {
    /// `SO_PEERGROUPS` of Linux 4.13, which Glibc's headers lack.
    private static let peerGroups: CInt = 59

    /// The most groups that a user has: `NGROUPS_MAX` of Linux.
    private static let mostGroups = 65_536

    /// The group that stands for all that have no number in the daemon's user namespace.
    private static let overflowGid =
        RunningProcess.text("overflowgid", in: AT_FDCWD, under: "/proc/sys/kernel/")
        .flatMap { UInt32($0.filter(\.isNumber)) } ?? 65534

    /// Those of a user who is not privileged, with the groups that the kernel noted at connect time.
    ///
    /// An older kernel tells the first group only.
    init(groupsOf descriptor: CInt) {
        // `struct ucred`, as for the peer.
        var credentials: (pid: Int32, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            self = .user(groups: [])
            return
        }
        var groups = [UInt32](repeating: 0, count: 64)
        var bytes = socklen_t(groups.count * 4)
        while getsockopt(descriptor, SOL_SOCKET, Self.peerGroups, &groups, &bytes) != 0 {
            // It says then how many bytes it takes.
            guard errno == ERANGE, bytes > groups.count * 4, bytes <= Self.mostGroups * 4 else {
                bytes = 0
                break
            }
            groups = [UInt32](repeating: 0, count: Int(bytes) / 4)
        }
        let all = groups.prefix(Int(bytes) / 4) + [credentials.gid]
        self = .user(groups: all.filter { $0 != Self.overflowGid })
    }
}

extension Right {
    /// The refusal of whoever it does not let in; nil of all others.
    func objection(to act: RestrictedAct, from origin: Origin?) -> WireError? {
        guard !self.isForAll, let origin, let peer = origin.peer,
            peer.uid == Peer.overflowUid || !self.uids.contains(peer.uid)
        else { return nil }
        let refusal = self.refusal(to: act)
        switch origin.credentials {
        case .privileged: return nil
        case .user(let groups): return self.gids.isDisjoint(with: groups) ? refusal : nil
        case .unknown where self.gids.isEmpty: return refusal
        case .unknown:
            // Its groups were not looked at when it asked, and the connection may be gone by now.
            return WireError(
                .forbidden,
                "the machine's file was reloaded just now: \(refusal.message); ask again if that is you",
                may: self.names
            )
        }
    }
}

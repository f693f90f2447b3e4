import NIOCore
import StateMachineProtocol

/// Who has connections: the account of each user, and the places that they take.
///
/// Belongs to the event loop.
final class Users {
    private let ownUid: UInt32
    private var accounts: [UInt32: User] = [:]
    private var admission: Admission

    init(limits: ServerLimits, ownUid: UInt32) {
        self.ownUid = ownUid
        self.admission = Admission(limits: limits, ownUid: ownUid)
    }

    var count: Int { self.accounts.count }

    /// Connections that have a place.
    var placesTaken: Int { self.admission.total }

    /// The account of a user.
    func account(of uid: UInt32) -> User {
        if let user = self.accounts[uid] { return user }
        let user = User(uid, isLimited: uid != 0 && uid != self.ownUid)
        self.accounts[uid] = user
        return user
    }

    /// Whether a user's connection has a place, and from when on.
    func admit(_ uid: UInt32, at door: Door) -> Admission.Decision {
        self.admission.arrived(uid, at: door, now: Self.now)
    }

    /// A connection of the last process, which had its place there.
    func admitAgain(_ uid: UInt32) { self.admission.returned(uid) }

    /// Who has more than the new limits allow keeps it.
    func apply(_ limits: ServerLimits) { self.admission.limits = limits }

    func came(_ connection: Connection) { connection.user.connections += 1 }

    func left(_ connection: Connection) {
        let user = connection.user
        user.connections -= 1
        if user.connections == 0 { self.accounts[user.uid] = nil }
        guard connection.lifecycle.place != .none else { return }
        let wasServed = connection.lifecycle.place == .served
        self.admission.left(user.uid, wasServed: wasServed, now: Self.now)
    }

    private static var now: Int64 { Int64(NIODeadline.now().uptimeNanoseconds) }
}

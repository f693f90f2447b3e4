import NIOCore
import StateMachineCore
import StateMachineProtocol

/// One user, and what its connections use together.
///
/// Belongs to the event loop.
final class User {
    let uid: UInt32
    /// Whether it is root or the daemon's own user: no limits of users apply to these, and no rights.
    let isPrivileged: Bool

    /// Its connections that wait for their turn.
    var waiting = CircularBuffer<Connection>()
    /// The program of the connection that came last; the next one is most often of the same, and shares it.
    private var program: Program?
    /// Its watches and waits that have nothing to do before a certain state comes.
    let readers = ReaderIndex()
    /// Whether they are to be looked up among the newest changes, and whether the current round waits for that.
    var search = (isDue: false, isInRound: false)
    /// How much of its next turns it has used already.
    private var used = TimeAmount.zero

    /// Bytes of the requests that are kept for its connections.
    var requestBytes = 0
    /// Bytes that its clients have sent and nobody has dealt with.
    @exclusivity(unchecked) var inputBytes = 0
    /// Patterns of its waits with `!`.
    var exceptingPatterns = 0
    /// Bytes of answers that its clients have not been sent yet.
    @exclusivity(unchecked) var replyBytes = 0

    init(_ uid: UInt32, isPrivileged: Bool) {
        self.uid = uid
        self.isPrivileged = isPrivileged
    }

    /// The peer of a new connection, which shares its program with the one before if that is the same.
    func sharing(_ peer: Peer) -> Peer {
        if peer.program != self.program { self.program = peer.program }
        return Peer(uid: peer.uid, pid: peer.pid, program: self.program)
    }

    /// Whether there is something to do in its turn.
    var wantsTurn: Bool { self.search.isDue || !self.waiting.isEmpty }

    /// How long its turn takes; nil if it has used this one already.
    func takeTurn() -> TimeAmount? {
        let left = Turns.length - self.used
        self.used = max(self.used - Turns.length, .zero)
        return left > .zero ? left : nil
    }

    /// Has its next turns be shorter by that time.
    func use(_ time: TimeAmount) { self.used = max(min(self.used + time, Turns.most), .zero) }

    /// Writes to one of the user's readers before its turn, which is shorter for it; returns whether there was time left.
    ///
    /// It may take no longer than a turn, unless the user is not held to limits. It is for readers that would otherwise
    /// lose changes.
    @discardableResult
    func early(_ write: (_ end: NIODeadline) -> Void) -> Bool {
        guard !self.isPrivileged else {
            write(.distantFuture)
            return true
        }
        guard self.used < Turns.most else { return false }
        let start = NIODeadline.now()
        write(start + Turns.length)
        self.use(.now() - start)
        return true
    }

    /// Whether a request of so many bytes may be kept in addition to the others.
    func mayKeep(_ bytes: Int, within limits: ServerLimits) -> Bool {
        self.isPrivileged || self.requestBytes + bytes <= limits.requestBytesPerUid
    }

    /// Whether more is read of a client that has whole requests waiting.
    ///
    /// It is not refused. As many bytes as its requests may have that are kept, which these are to become.
    func mayReceive(within limits: ServerLimits) -> Bool {
        self.isPrivileged || self.inputBytes < limits.requestBytesPerUid
    }

    /// Whether its waits with `!` may have so many more patterns.
    func mayExcept(_ patterns: Int) -> Bool {
        self.isPrivileged
            || self.exceptingPatterns + patterns <= ServerLimits.exceptingPatternsPerUid
    }

    /// Whether a client may be answered before it has read its earlier answers.
    func mayOwe(within limits: ServerLimits) -> Bool {
        self.isPrivileged || self.replyBytes < limits.replyBytesPerUid
    }
}

/// Who has connections: the account of each user, and the places that they take.
///
/// Belongs to the event loop.
final class Users {
    /// An account, which lasts as long as its connections, be they on their way.
    private struct Account {
        weak var user: User?
    }

    private let ownUid: UInt32
    private var accounts: [UInt32: Account] = [:]
    private var admission: Admission

    init(limits: ServerLimits, ownUid: UInt32) {
        self.ownUid = ownUid
        self.admission = Admission(limits: limits, ownUid: ownUid)
    }

    /// Connections that have a place.
    var slotsTaken: Int { self.admission.total }

    /// Those who have readers that rest.
    var withResting: [User] {
        self.accounts.values.compactMap(\.user).filter { $0.readers.count > 0 }
    }

    /// The account of a user.
    func account(of uid: UInt32) -> User {
        if let user = self.accounts[uid]?.user { return user }
        let user = User(uid, isPrivileged: self.isPrivileged(uid))
        self.accounts = self.accounts.filter { $0.value.user != nil }
        self.accounts[uid] = Account(user: user)
        return user
    }

    /// Whether it is root, or the daemon's own user.
    ///
    /// Whom the kernel has no name for may be anybody, also where the daemon has that uid itself.
    static func isPrivileged(_ uid: UInt32, ownUid: UInt32) -> Bool {
        uid == 0 || uid == ownUid && uid != Peer.overflowUid
    }

    /// The same at this daemon.
    func isPrivileged(_ uid: UInt32) -> Bool { Self.isPrivileged(uid, ownUid: self.ownUid) }

    /// Whether a user's connection has a place, and from when on.
    func admit(_ uid: UInt32, at door: Door) -> Admission.Decision {
        self.admission.arrived(uid, at: door, now: Self.now)
    }

    /// A connection of the last process, which had its place there.
    func admitAgain(_ uid: UInt32) { self.admission.returned(uid) }

    /// Who has more than the new limits allow keeps it.
    func apply(_ limits: ServerLimits) { self.admission.limits = limits }

    func released(_ connection: Connection) {
        guard connection.lifecycle.slot != .none else { return }
        let wasServed = connection.lifecycle.slot == .served
        self.admission.released(connection.user.uid, wasServed: wasServed, now: Self.now)
    }

    private static var now: Int64 { Int64(NIODeadline.now().uptimeNanoseconds) }
}

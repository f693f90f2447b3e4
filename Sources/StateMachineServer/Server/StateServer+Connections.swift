import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Who is connected, how they come and how they go.
extension StateServer {
    /// All of them, in no order.
    var clients: some Sequence<Connection> { self.rounds.connections }

    /// How long the server has been there, in milliseconds.
    var uptimeMs: Int64 { (NIODeadline.now() - self.startedAt).nanoseconds / 1_000_000 }

    /// A number for a hold, a guard or a question; none is given twice.
    func nextNumber() -> UInt64 {
        self.lastNumber += 1
        return self.lastNumber
    }

    /// Whether a connection that is turned away may stay until its client has read why.
    ///
    /// 64 at a time: enough for those who come by mistake, and a crowd takes no more descriptors.
    var mayLinger: Bool { self.rounds.connections.count - self.admission.total <= 64 }

    /// Whether a user's connection has a place, and from when on.
    func admit(_ uid: UInt32, at door: Door) -> Admission.Decision {
        let now = Int64(NIODeadline.now().uptimeNanoseconds)
        let decision = self.admission.arrived(uid, at: door, now: now)
        switch decision {
        case .admit: self.counters.accepted.add()
        case .turnAway: self.counters.turnedAway.add()
        }
        return decision
    }

    /// The account of a user.
    func user(_ uid: UInt32) -> User {
        if let user = self.users[uid] { return user }
        let user = User(uid, isLimited: uid != 0 && uid != self.ownPeer.uid)
        self.users[uid] = user
        return user
    }

    func add(_ connection: Connection) {
        connection.user.connections += 1
        self.rounds.add(connection)
    }

    func remove(_ connection: Connection) {
        self.rounds.remove(connection)
        connection.user.connections -= 1
        if connection.user.connections == 0 { self.users[connection.user.uid] = nil }
        self.tookTurn(connection)
        if connection.lifecycle.place != .none {
            self.admission.left(
                connection.peer.uid,
                wasServed: connection.lifecycle.place == .served,
                now: Int64(NIODeadline.now().uptimeNanoseconds)
            )
        }
        if self.rounds.connections.isEmpty { self.allGone?.succeed() }
    }

    /// Puts other limits in force; returns the names of those that have to wait for the next start.
    ///
    /// Who has more than the new limits allow keeps it.
    func apply(_ new: ServerLimits) -> [String] {
        var limits = new
        limits.ringChanges = self.limits.ringChanges
        limits.ringBytes = self.limits.ringBytes
        let later = zip(new.all, limits.all).filter { $0.value != $1.value }.map(\.0.name)
        self.limits = limits
        self.prepared.forget()
        self.admission.limits = limits
        return later
    }

    /// A connection of the last process, which had its place there.
    func admitAgain(_ uid: UInt32) { self.admission.returned(uid) }

    /// Keeps clear of the numbers that the last process gave out.
    func skipNumbers(through number: UInt64) { self.lastNumber = max(self.lastNumber, number) }

    func keep(_ voters: [SocketVoter]) { self.leftVoters += voters }

    /// Tells every client that the daemon is going; done when all connections are closed.
    func sayGoodbye(_ reason: ServerLine.ByeReason) -> EventLoopFuture<Void> {
        self.loop.preconditionInEventLoop()
        let promise = self.allGone ?? self.loop.makePromise(of: Void.self)
        self.allGone = promise
        self.stopDeciding {
            for connection in self.clients {
                connection.shutDown(reason)
            }
            if self.rounds.connections.isEmpty { promise.succeed() }
        }
        return promise.futureResult
    }

    /// Has nothing decided any more, and then does what is to be done with the connections.
    func stopDeciding(then body: @escaping @Sendable () -> Void) {
        self.isClosing = true
        self.machine.stopMoving()
        for connection in self.clients { connection.parts.sets.withdraw() }
        // What is being committed will have happened, and is answered as such.
        self.machine.afterCommits {
            self.catchUp()
            // All sets are answered before the first guard is let go, which would decide them.
            for connection in self.clients { connection.parts.sets.refuse() }
            body()
        }
    }
}

import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Who is connected, how they come and how they go.
extension StateServer {
    /// All of them, in no order.
    var clients: some Sequence<Connection> { self.rounds.connections }

    /// How long the server has been there, in milliseconds.
    var uptimeMs: Int64 { (NIODeadline.now() - self.startedAt).nanoseconds / 1_000_000 }

    /// Whether a connection that is turned away may stay until its client has read why.
    ///
    /// 64 at a time: enough for those who come by mistake, and a crowd takes no more descriptors.
    var mayLinger: Bool { self.rounds.connections.count - self.users.placesTaken <= 64 }

    /// Whether a user's connection has a place, and from when on.
    func admit(_ uid: UInt32, at door: Door) -> Admission.Decision {
        let decision = self.users.admit(uid, at: door)
        switch decision {
        case .admit: self.counters.accepted.add()
        case .turnAway: self.counters.turnedAway.add()
        }
        return decision
    }

    func add(_ connection: Connection) {
        self.users.came(connection)
        self.rounds.add(connection)
    }

    func remove(_ connection: Connection) {
        self.rounds.remove(connection)
        self.users.left(connection)
        self.tookTurn(connection)
        self.rounds.tellIfEmpty()
    }

    /// Tells every client that the daemon is going; done when all connections are closed.
    func sayGoodbye(_ reason: ServerLine.ByeReason) -> EventLoopFuture<Void> {
        self.loop.preconditionInEventLoop()
        let allGone = self.rounds.whenEmpty()
        self.stopDeciding {
            for connection in self.clients {
                connection.shutDown(reason)
            }
            self.rounds.tellIfEmpty()
        }
        return allGone
    }
}

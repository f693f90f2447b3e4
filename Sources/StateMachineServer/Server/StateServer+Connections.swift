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

    /// How long writing to everybody takes at most when the daemon ends, in turns of such a length.
    ///
    /// 500 ms: filtered watches of two users that were far behind took 15 s, in which the service
    /// manager killed the daemon. 0.25 ms: as long as any turn is meant to take.
    private static let lastWriting = (
        all: TimeAmount.milliseconds(500), turn: TimeAmount.microseconds(250)
    )

    /// Writes what can be written to everybody, in turns, until there is nothing left or no time.
    func writeLast() {
        let end = NIODeadline.now() + Self.lastWriting.all
        var rest = Array(self.clients)
        repeat {
            rest = rest.filter { connection in
                !connection.writeLast(until: min(.now() + Self.lastWriting.turn, end))
            }
        } while !rest.isEmpty && NIODeadline.now() < end
    }

    /// Tells every client that the daemon is going; done when all connections are closed.
    ///
    /// Who has more to be told than there is time for is told only that.
    func sayGoodbye(_ reason: ServerLine.ByeReason) -> EventLoopFuture<Void> {
        self.loop.preconditionInEventLoop()
        let allGone = self.rounds.whenEmpty()
        self.stopDeciding {
            for connection in self.clients { connection.shutDown(reason) }
            self.writeLast()
            for connection in self.clients { connection.finishShutDown() }
            self.rounds.tellIfEmpty()
        }
        return allGone
    }
}

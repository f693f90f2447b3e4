import NIOCore

/// Tracks who is connected and how far everybody has been written to, in rounds.
///
/// In a round everybody who has something to write gets one turn; the next round begins when the
/// last of them has had it.
///
/// Belongs to the event loop.
final class Rounds {
    private let loop: any EventLoop
    private let turns: TurnScheduler

    /// All connections, each at its own ``SchedulingState/place``.
    private(set) var connections: [Connection] = []
    /// Kept when nobody is connected any more; nil if nobody waits for that.
    private var empty: EventLoopPromise<Void>?
    /// The newest seq when everybody was last written to.
    private(set) var flushed: UInt64
    /// The newest seq when the current round began, and how many have not had their turn.
    private var round: (head: UInt64, left: Int) = (0, 0)
    /// Whether more has to be written than the current round covers.
    private var isDue = false
    /// The connections whose sets were answered, which are written to first.
    private var answered: [Connection] = []
    /// The connections whose requests wait until everybody has been written to.
    private var paused: [Connection] = []

    /// - Parameters:
    ///   - loop: where everything happens.
    ///   - turns: where connections with something to write wait.
    ///   - seq: the newest change, which nobody needs to be told about.
    init(on loop: any EventLoop, by turns: TurnScheduler, after seq: UInt64) {
        self.loop = loop
        self.turns = turns
        self.flushed = seq
    }

    // MARK: - Who is there

    func add(_ connection: Connection) {
        connection.standing.place = self.connections.count
        self.connections.append(connection)
    }

    /// Removes a connection; a round that is under way still expects its turn.
    func remove(_ connection: Connection) {
        // The last one takes its place.
        let last = self.connections.removeLast()
        if last !== connection {
            last.standing.place = connection.standing.place
            self.connections[connection.standing.place] = last
        }
    }

    /// Done when nobody is connected and ``tellIfEmpty()`` has been called.
    func whenEmpty() -> EventLoopFuture<Void> {
        let promise = self.empty ?? self.loop.makePromise(of: Void.self)
        self.empty = promise
        return promise.futureResult
    }

    func tellIfEmpty() {
        if self.connections.isEmpty { self.empty?.succeed() }
    }

    // MARK: - Rounds

    /// Begins a round; if one is under way, another follows it.
    func begin(of server: StateServer) {
        guard self.round.left == 0 else {
            self.isDue = true
            return
        }
        self.round.head = server.ring.head
        for connection in self.connections
        where connection.wantsTurn {
            connection.standing.isInRound = true
            self.round.left += 1
            self.turns.enqueue(connection)
        }
        if self.round.left == 0 { self.end(of: server) } else { self.turns.slice() }
    }

    /// Notes that the connection has been written to.
    func tookTurn(_ connection: Connection, of server: StateServer) {
        guard connection.standing.isInRound else { return }
        connection.standing.isInRound = false
        self.round.left -= 1
        if self.round.left == 0 { self.end(of: server) }
    }

    /// Makes setters wait no longer for other users' readers who are held to limits.
    ///
    /// A `resync` line tells those readers what the ring has lost before they were written to.
    func leaveBehind(of server: StateServer) {
        let setters = self.paused.map(\.user)
        for connection in self.connections where connection.standing.isInRound {
            let user = connection.user
            guard user.isLimited, !setters.contains(where: { $0 === user }) else { continue }
            self.tookTurn(connection, of: server)
        }
    }

    private func end(of server: StateServer) {
        self.flushed = max(self.flushed, self.round.head)
        if self.isDue {
            self.isDue = false
            server.scheduleFlush()
        }
        guard !self.paused.isEmpty else { return }
        let paused = exchange(&self.paused, with: [])
        self.turns.calm()
        self.loop.assumeIsolated().execute { for connection in paused { connection.resume() } }
    }

    /// Pauses the connection's requests until everybody has been written to.
    func pause(_ connection: Connection) {
        self.paused.append(connection)
        self.turns.hurry()
    }

    // MARK: - Out of turn

    /// Notes that a set of the connection was answered after others had their turn.
    func answered(_ connection: Connection) {
        guard !connection.standing.isAnswered else { return }
        connection.standing.isAnswered = true
        self.answered.append(connection)
    }

    /// Writes to those whose sets were answered.
    func writeToAnswered() {
        for connection in exchange(&self.answered, with: []) {
            connection.standing.isAnswered = false
            connection.flush(.urgent)
        }
    }

    /// Writes to everybody in mid-turn; users held to limits may have to wait, and lose changes.
    func writeToReaders(upTo head: UInt64) {
        self.flushed = head
        for connection in self.connections where connection.hasOutput {
            connection.user.urgently { connection.pump(.urgent) }
        }
    }
}

import NIOCore

/// Who is connected, and how far everybody has been written to: in rounds, in which all who have something to write are
/// given one turn each; the next begins when the last of them has had it.
///
/// Belongs to the event loop; see ``StateServer`` for the exclusivity of its variables.
final class Rounds {
    private let loop: any EventLoop
    private let turns: TurnScheduler

    /// All that there are, each at its own ``SchedulingState/place``.
    private(set) var connections: [Connection] = []
    /// Kept when nobody is connected any more; nil if nobody waits for that.
    private var empty: EventLoopPromise<Void>?
    /// The newest seq when everybody was last written to.
    @exclusivity(unchecked) private(set) var flushed: UInt64
    /// The newest seq when everybody was last given a turn to be written to, and how many have not had it.
    private var round: (head: UInt64, left: Int) = (0, 0)
    /// Whether there is more to be written than the round is about.
    private var isDue = false
    /// The connections whose sets were answered, which are written to first.
    @exclusivity(unchecked) private var answered: [Connection] = []
    /// The connections whose requests wait until everybody has been written to.
    @exclusivity(unchecked) private var paused: [Connection] = []

    /// - Parameters:
    ///   - loop: where everything happens.
    ///   - turns: where those who have something to write wait.
    ///   - seq: the newest change, which nobody is to be told of.
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

    /// Takes a connection out; the round that is under way still counts on its turn.
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

    /// Gives everybody who has something to write a turn, unless that is being done; then it is done again.
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

    /// The connection has been written to.
    func tookTurn(_ connection: Connection, of server: StateServer) {
        guard connection.standing.isInRound else { return }
        connection.standing.isInRound = false
        self.round.left -= 1
        if self.round.left == 0 { self.end(of: server) }
    }

    /// Has those who set wait no longer for readers of other users who are held to limits: what the ring loses
    /// before they have been written to, they are told of in a `resync` line.
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

    /// Has the connection go on with its requests once everybody has been written to.
    func pause(_ connection: Connection) {
        self.paused.append(connection)
        self.turns.hurry()
    }

    // MARK: - Out of turn

    /// A set of the connection was answered after others had their turn.
    func answered(_ connection: Connection) {
        guard !connection.standing.isAnswered else { return }
        connection.standing.isAnswered = true
        self.answered.append(connection)
    }

    /// Writes to those whose sets were answered.
    func writeToAnswered() {
        for connection in exchange(&self.answered, with: []) {
            connection.standing.isAnswered = false
            connection.flush(isUrgent: true)
        }
    }

    /// Writes to everybody in the middle of a turn; who is held to limits may have to wait, and lose
    /// something.
    func writeToReaders(upTo head: UInt64) {
        self.flushed = head
        for connection in self.connections where connection.hasOutput {
            connection.user.urgently { connection.pump(isUrgent: true) }
        }
    }
}

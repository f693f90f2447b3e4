/// One connection's turns, as its parts see them.
///
/// The parts ask whether there is time for more, and for another turn if there is not.
///
/// Belongs to the event loop; see ``StateServer`` for the exclusivity of its variables.
final class ConnectionTurn {
    private let turns: TurnScheduler
    /// The connection, for as long as the server knows it.
    @exclusivity(unchecked) private var connection: Connection?
    /// Whether the current write does not wait for the turn.
    @exclusivity(unchecked) private var isUrgent = false
    /// Whether there was no time for all that the connection has to do.
    @exclusivity(unchecked) private(set) var isCutShort = false

    init(_ turns: TurnScheduler) {
        self.turns = turns
    }

    /// Begins turns for the connection, which lives until ``close()``.
    func open(for connection: Connection) { self.connection = connection }

    /// Ends the connection's turns.
    func close() { self.connection = nil }

    /// Puts the connection in line, unless it is there already.
    func want() {
        if let connection { self.turns.want(connection) }
    }

    /// Begins a turn, in which there is time for everything until it turns out otherwise.
    func begin() { self.isCutShort = false }

    /// Notes that there is no time for the rest.
    func cutShort() { self.isCutShort = true }

    /// Calls `body` to write; unless urgent, it stops when time is up and goes on next turn.
    func write(isUrgent: Bool, _ body: () -> Void) {
        self.isUrgent = isUrgent
        let wasCutShort = exchange(&self.isCutShort, with: false)
        body()
        if self.isCutShort { self.want() }
        self.isCutShort = self.isCutShort || wasCutShort
        self.isUrgent = false
    }

    /// Whether there is no time for more.
    var isOver: Bool { !self.isUrgent && self.turns.isOver }

    /// Whether to leave the rest for the next turn; if so, notes that.
    func mustStop() -> Bool {
        guard self.isOver else { return false }
        self.isCutShort = true
        return true
    }

    /// Whether a request that changes nothing may be carried out now.
    func mayServe() -> Bool { self.connection.map { self.turns.mayServe($0) } ?? false }

    /// A set was decided after others had their turn.
    func setWasDecided() { self.connection?.setWasDecided() }

    /// Goes on when the channel has written what the socket did not take.
    func hasRoom() { self.connection?.hasRoom() }
}

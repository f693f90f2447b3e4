import NIOCore

/// One connection's turns, as its parts see them.
///
/// The parts ask whether there is time for more, and for another turn if there is not.
///
/// Belongs to the event loop.
final class ConnectionTurn {
    /// How long a write may take.
    enum Haste {
        /// As long as the connection's turn.
        case turn
        /// As long as it takes: it does not wait for the turn.
        case urgent
        /// Until then, whatever the turn: the daemon ends.
        case last(until: NIODeadline)
    }

    private let turns: Turns
    /// The connection, for as long as the server knows it.
    private var connection: Connection?
    /// How long the current write may take.
    private var haste = Haste.turn
    /// Whether there was no time for all that the connection has to do.
    private(set) var isCutShort = false

    init(_ turns: Turns) {
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

    /// Calls `body` to write; it stops when its time is up, and continues in the next turn.
    func write(_ haste: Haste, _ body: () -> Void) {
        self.haste = haste
        let wasCutShort = exchange(&self.isCutShort, with: false)
        body()
        if self.isCutShort { self.want() }
        self.isCutShort = self.isCutShort || wasCutShort
        self.haste = .turn
    }

    /// Whether there is no time for more.
    var isOver: Bool {
        switch self.haste {
        case .turn: self.turns.isOver
        case .urgent: false
        case .last(let end): NIODeadline.now() >= end
        }
    }

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

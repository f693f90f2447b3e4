/// A connection's standing in the server's lists; each variable belongs to whoever keeps the list.
struct SchedulingState {
    /// Its index in the server's list of connections.
    var place = 0
    /// Whether it waits for its turn.
    var isInLine = false
    /// Whether the current round waits for its turn.
    var isInRound = false
    /// Whether it is listed as one whose set was answered.
    var isAnswered = false
}

/// Where a connection stands in the lists of the server and of its turns; each note is theirs who keep the list.
struct SchedulingState {
    /// Where the server keeps it.
    var place = 0
    /// Whether it waits for its turn.
    var isInLine = false
    /// Whether everybody has been written to only when it has had its turn.
    var isInRound = false
    /// Whether it is listed as one whose set was answered.
    var isAnswered = false
}

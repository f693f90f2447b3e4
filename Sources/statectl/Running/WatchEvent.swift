/// What a watch's command is told of.
enum WatchEvent: String {
    /// The state, to begin with or after changes that were missed.
    case state
    case change
    /// Nothing has happened for a while.
    case beat
    /// The state has lasted for a while.
    case stuck
    /// The daemon has gone, or is not there to begin with, and what the state is is not known.
    case gone
    /// It has come back, in that state.
    case back
}

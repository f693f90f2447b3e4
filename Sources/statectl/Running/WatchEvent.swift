/// What a watch's command is run for.
enum WatchEvent: String {
    /// The state, to begin with or after changes that were missed.
    case state
    case change
    /// Nothing has happened for a while.
    case beat
    /// The state has lasted for a while.
    case stuck
    /// The daemon is gone, or is not there to begin with, and the state is not known.
    case gone
    /// The daemon is back, in that state.
    case back
}

import NIOCore

/// Whether a client's output goes to its socket.
enum OutboxState {
    /// It does.
    case free
    /// It waits: the channel holds bytes, and replies in them, that the socket did not take.
    ///
    /// The channel may have written some of them.
    case blocked(ByteBuffer, replies: Int)
    /// It goes nowhere any more: the client no longer reads, and its output is dropped.
    case closed

    var isFree: Bool {
        switch self {
        case .free: true
        case .blocked, .closed: false
        }
    }

    var isBlocked: Bool {
        switch self {
        case .blocked: true
        case .free, .closed: false
        }
    }

    var isClosed: Bool {
        switch self {
        case .closed: true
        case .free, .blocked: false
        }
    }
}

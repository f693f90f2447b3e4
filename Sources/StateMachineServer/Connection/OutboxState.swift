import NIOCore

/// Whether what is for a client goes to its socket.
enum OutboxState {
    /// It does.
    case free
    /// It waits: the channel holds bytes that the socket did not take, and so many replies in them. It may have written
    /// some of it.
    case blocked(ByteBuffer, replies: Int)
    /// It goes nowhere any more: the client reads no more, and what is for it is dropped.
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

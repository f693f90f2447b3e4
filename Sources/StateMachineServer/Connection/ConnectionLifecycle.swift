/// How one connection comes to its end: when the client has said all, when the server wants it to go,
/// when it is gone.
struct ConnectionLifecycle {
    private enum State {
        /// The client may send more.
        case open
        /// The client has ended its side; what it asked for goes on.
        case inputEnded
        /// `bye` is on its way out; nothing more is read.
        case leaving
        /// Our side is shut; the client is given time to read what it has not.
        case lingering
        case closed
    }

    private var state = State.open

    /// Whether requests are still taken.
    var isListening: Bool {
        switch self.state {
        case .open, .inputEnded: true
        case .leaving, .lingering, .closed: false
        }
    }

    var isClosed: Bool {
        switch self.state {
        case .closed: true
        case .open, .inputEnded, .leaving, .lingering: false
        }
    }

    /// The client will send nothing more, and all that it sent has been dealt with.
    enum InputEndedAction: Equatable {
        /// End what lives only as long as the client's side: the implicit watch.
        case endImplicitWatch
        case close
        case ignore
    }

    mutating func inputEnded() -> InputEndedAction {
        switch self.state {
        case .open:
            self.state = .inputEnded
            return .endImplicitWatch
        case .lingering:
            self.state = .closed
            return .close
        case .inputEnded, .leaving, .closed:
            return .ignore
        }
    }

    /// The server wants the connection to end after what is queued.
    enum LeaveAction: Equatable {
        case sayBye
        case ignore
    }

    mutating func leave() -> LeaveAction {
        switch self.state {
        case .open, .inputEnded:
            self.state = .leaving
            return .sayBye
        case .leaving, .lingering, .closed:
            return .ignore
        }
    }

    /// All that was queued has been written.
    enum FlushedAction: Equatable {
        case close
        /// Shut our side and wait for the client's end, for closing with unread input would take
        /// from the client what it has not read yet.
        case linger
        case ignore
    }

    mutating func flushed(hasPending: Bool, hasSeenEOF: Bool) -> FlushedAction {
        switch self.state {
        case .inputEnded where !hasPending:
            self.state = .closed
            return .close
        case .leaving:
            self.state = hasSeenEOF ? .closed : .lingering
            return hasSeenEOF ? .close : .linger
        case .open, .inputEnded, .lingering, .closed:
            return .ignore
        }
    }

    /// The next process goes on with the socket.
    mutating func leftBehind() { self.state = .closed }

    /// The socket is closed.
    mutating func becameInactive() { self.state = .closed }
}

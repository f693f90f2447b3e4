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
        /// The client's end is closed, and only what changes something is carried out of what it sent before.
        case gone
        case closed
        /// The server knows it no more.
        case forgotten
    }

    /// What it has of the server's places.
    enum Place {
        /// It was turned away, or is about to come.
        case none
        /// It has its place, and waits for its time: what it sends is kept.
        case waiting
        /// It is served.
        case served
    }

    private var state = State.open
    private(set) var place = Place.none

    /// Whether requests are still taken.
    var isListening: Bool {
        switch self.state {
        case .open, .inputEnded, .gone: true
        case .leaving, .lingering, .closed, .forgotten: false
        }
    }

    /// Whether nobody hears the answers, if requests are taken at all.
    var isGone: Bool {
        switch self.state {
        case .gone: true
        case .open, .inputEnded, .leaving, .lingering, .closed, .forgotten: false
        }
    }

    var isForgotten: Bool {
        switch self.state {
        case .forgotten: true
        case .open, .inputEnded, .leaving, .lingering, .gone, .closed: false
        }
    }

    /// Whether it waits for its time.
    var isWaiting: Bool {
        switch self.place {
        case .waiting: true
        case .none, .served: false
        }
    }

    /// Whether it is dealt with as a client that hears the answers.
    var isServing: Bool {
        switch self.state {
        case .open, .inputEnded, .leaving, .lingering, .closed: !self.isWaiting
        case .gone, .forgotten: false
        }
    }

    /// It has a place.
    mutating func admitted() { self.place = .waiting }

    /// Its time has come; returns whether it is to be served.
    mutating func timeCame() -> Bool {
        switch self.state {
        case .open, .inputEnded:
            self.place = .served
            return true
        case .leaving, .lingering, .gone, .closed, .forgotten:
            return false
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
        case .inputEnded, .leaving, .gone, .closed, .forgotten:
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
        case .leaving, .lingering, .gone, .closed, .forgotten:
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
        case .open, .inputEnded, .lingering, .gone, .closed, .forgotten:
            return .ignore
        }
    }

    /// The next process goes on with the socket.
    mutating func leftBehind() { self.state = .closed }

    /// The socket is closed.
    enum VanishedAction: Equatable {
        /// Carry out what is left of what the client has sent.
        case carryOutRest
        case forget
    }

    mutating func vanished(hasRequests: Bool) -> VanishedAction {
        switch self.state {
        case .open where hasRequests && self.place == .served,
            .inputEnded where hasRequests && self.place == .served:
            self.state = .gone
            return .carryOutRest
        case .open, .inputEnded, .leaving, .lingering, .gone, .closed, .forgotten:
            return .forget
        }
    }

    /// Nothing of it is left; returns whether that was so before.
    mutating func end() -> Bool {
        defer { self.state = .forgotten }
        return self.isForgotten
    }
}

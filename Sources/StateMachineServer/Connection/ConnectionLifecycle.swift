/// How a connection ends: the client is done, the server wants it to go, or the client is gone.
struct ConnectionLifecycle {
    private enum State {
        /// The client may send more.
        case open
        /// The client has ended its side; what it asked for goes on.
        case halfClosed
        /// `bye` is on its way out; nothing more is read.
        case dismissed
        /// Our side is shut; the client gets time to read the rest.
        case lingering
        /// The client's end is closed; earlier requests count only if they change something.
        case gone
        case closed
        /// The server no longer knows it.
        case forgotten
    }

    /// Whether it has one of the server's slots.
    enum Slot {
        /// It was turned away, or is not admitted yet.
        case none
        /// It has its slot and waits for its time; what it sends is kept.
        case waiting
        /// It is served.
        case served
    }

    private var state = State.open
    private(set) var slot = Slot.none

    /// Whether requests are still taken.
    var isListening: Bool {
        switch self.state {
        case .open, .halfClosed, .gone: true
        case .dismissed, .lingering, .closed, .forgotten: false
        }
    }

    /// Whether requests are still taken although nobody reads the answers.
    var isGone: Bool { self.state == .gone }

    var isForgotten: Bool { self.state == .forgotten }

    /// Whether it waits for its time.
    var isWaiting: Bool { self.slot == .waiting }

    /// Whether what it sends is carried out.
    var mayServe: Bool {
        switch self.state {
        case .open, .halfClosed, .dismissed, .lingering, .gone, .closed: !self.isWaiting
        case .forgotten: false
        }
    }

    /// Gives it a slot.
    mutating func admitted() { self.slot = .waiting }

    /// Notes that its time has come; returns whether it is to be served.
    mutating func timeCame() -> Bool {
        switch self.state {
        case .open, .halfClosed:
            self.slot = .served
            return true
        case .dismissed, .lingering, .gone, .closed, .forgotten:
            return false
        }
    }

    /// The client will send nothing more, and all that it sent has been dealt with.
    enum InputServedAction: Equatable {
        /// End what lives only as long as the client's side: the implicit watch.
        case endImplicitWatch
        case close
        case ignore
    }

    mutating func inputServed() -> InputServedAction {
        switch self.state {
        case .open:
            self.state = .halfClosed
            return .endImplicitWatch
        case .lingering:
            self.state = .closed
            return .close
        case .halfClosed, .dismissed, .gone, .closed, .forgotten:
            return .ignore
        }
    }

    /// The server wants the connection to end after what is queued; returns whether to say goodbye.
    mutating func dismiss() -> Bool {
        switch self.state {
        case .open, .halfClosed:
            self.state = .dismissed
            return true
        case .dismissed, .lingering, .gone, .closed, .forgotten:
            return false
        }
    }

    /// All that was queued has been written.
    enum FlushedAction: Equatable {
        case close
        /// Shut our side and wait for the client's end: closing with unread input would discard
        /// what the client has not read yet.
        case linger
        case ignore
    }

    mutating func flushed(hasPending: Bool, hasSeenEOF: Bool) -> FlushedAction {
        switch self.state {
        case .halfClosed where !hasPending:
            self.state = .closed
            return .close
        case .dismissed:
            self.state = hasSeenEOF ? .closed : .lingering
            return hasSeenEOF ? .close : .linger
        case .open, .halfClosed, .lingering, .gone, .closed, .forgotten:
            return .ignore
        }
    }

    /// The next process goes on with the socket.
    mutating func handedOver() { self.state = .closed }

    /// The socket is closed; returns whether to carry out what is left of what the client has sent.
    mutating func vanished(hasRequests: Bool) -> Bool {
        switch self.state {
        case .open where hasRequests && self.slot == .served,
            .halfClosed where hasRequests && self.slot == .served:
            self.state = .gone
            return true
        case .open, .halfClosed, .dismissed, .lingering, .gone, .closed, .forgotten:
            return false
        }
    }

    /// Marks it as forgotten; returns whether it was already.
    mutating func forget() -> Bool {
        defer { self.state = .forgotten }
        return self.isForgotten
    }
}

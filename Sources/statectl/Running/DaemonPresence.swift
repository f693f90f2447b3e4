import StateMachineClient
import StateMachineCore

/// Decides whether the watched daemon is there; it has no effects.
struct DaemonPresence {
    private enum State {
        /// It has not been met.
        case awaited
        case there
        case gone
    }

    /// What to say about a failed attempt to reach it.
    enum Loss: Equatable {
        /// It has gone.
        case gone
        /// It was not there to begin with.
        case awaited
        /// Nothing new.
        case still
    }

    private var state = State.awaited

    /// Notes that there is no connection; the attempts to make one are counted from 1.
    mutating func interrupted(attempt: Int) -> Loss {
        switch self.state {
        case .awaited: return attempt == 1 ? .awaited : .still
        case .gone: return .still
        case .there:
            self.state = .gone
            return .gone
        }
    }

    /// Notes that a line came; returns whether the daemon was gone before.
    mutating func lineReceived() -> Bool {
        defer { self.state = .there }
        switch self.state {
        case .gone: return true
        case .awaited, .there: return false
        }
    }
}

extension ClientError {
    /// Why there is no connection to a daemon that is gone, for people, and that it is retried.
    var reconnecting: String { "\(self.description.printable); reconnecting" }

    /// The same for a daemon that was not there to begin with.
    var awaiting: String { "\(self.description.printable); waiting for it" }
}

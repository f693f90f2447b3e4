import StateMachineClient
import StateMachineCore

/// Whether the daemon that is watched is there: decisions only.
struct DaemonPresence {
    private enum State {
        /// It has not been met.
        case awaited
        case there
        case gone
    }

    /// What there is to say of an attempt to reach it that failed.
    enum Loss: Equatable {
        /// It has gone.
        case gone
        /// It was not there to begin with.
        case awaited
        /// Nothing new.
        case still
    }

    private var state = State.awaited

    /// There is no connection; the attempts to make one are counted from 1.
    mutating func interrupted(attempt: Int) -> Loss {
        switch self.state {
        case .awaited: return attempt == 1 ? .awaited : .still
        case .gone: return .still
        case .there:
            self.state = .gone
            return .gone
        }
    }

    /// A line came; returns whether the daemon was gone before.
    mutating func lineReceived() -> Bool {
        defer { self.state = .there }
        switch self.state {
        case .gone: return true
        case .awaited, .there: return false
        }
    }
}

extension ClientError {
    /// Why there is no connection, for people, and that it is tried again, to a daemon that has gone.
    var reconnecting: String { "\(self.description.printable); reconnecting" }

    /// The same of a daemon that was not there to begin with.
    var awaiting: String { "\(self.description.printable); waiting for it" }
}

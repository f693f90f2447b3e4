import StateMachineCore
package import StateMachineProtocol

/// Follows other machines for a server, which is no client of theirs itself.
package protocol LinkWatcher: Sendable {
    /// Follows one until the task is cancelled, whatever its daemon does.
    ///
    /// - Parameters:
    ///   - link: which.
    ///   - cursor: the cursor of what was last seen of it; nil: nothing was.
    ///   - tell: told all of it, in order; returns when there is room for more.
    func watch(
        _ link: Link,
        since cursor: String?,
        telling tell: @escaping @Sendable (LinkNews) async -> Void
    ) async
}

/// What is seen of another machine.
package enum LinkNews: Sendable {
    /// It has those states from here on.
    case described(Schema)
    /// It has come to that state, or is in it; the cursor is to go on from.
    case state(NamedState, cursor: String)
    /// It cannot be seen, and why.
    case unseen(String)
}

/// What is seen of all links now, which may be asked on any thread.
final class SightBox: Sendable {
    private let seen = Lock((sight: Sight(), version: 0))

    var now: Sight { self.seen.withLock { $0.sight } }

    /// How often it has changed.
    var version: Int { self.seen.withLock { $0.version } }

    func change(_ body: (inout Sight) -> Void) {
        self.seen.withLock { seen in
            body(&seen.sight)
            seen.version += 1
        }
    }
}

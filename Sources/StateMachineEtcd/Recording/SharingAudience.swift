#if Cluster
import StateMachineProtocol

/// Who is told how it is with a shared machine, and what is to be told to whoever comes.
struct SharingAudience {
    /// Nil: nobody yet.
    private var handler: (@Sendable (SharingNews) -> Void)?
    /// How it is; nil: nothing is known yet.
    private var standing: SharingNews?
    /// Why the engine cannot be reached.
    private var troubles: [String] = []
    /// What has happened once, and was told to nobody yet.
    private var untold: [SharingNews] = []

    /// Whether all is well.
    var isUp: Bool { self.standing == .up }

    /// Tells `handler` from now on, and what it has missed.
    mutating func tell(_ handler: @escaping @Sendable (SharingNews) -> Void) {
        self.handler = handler
        for news in exchange(&self.untold, with: []) { handler(news) }
        if let standing = self.standing { handler(standing) }
        if !self.troubles.isEmpty { handler(.unreachable(self.troubles)) }
    }

    /// It is like that until this is called again.
    mutating func isNow(_ standing: SharingNews) {
        self.standing = standing
        self.handler?(standing)
    }

    /// The engine cannot be reached, and why; empty: it can be.
    mutating func areNow(_ troubles: [String]) {
        guard troubles != self.troubles else { return }
        self.troubles = troubles
        self.handler?(.unreachable(troubles))
    }

    /// That has happened once.
    mutating func happened(_ news: SharingNews) {
        if let handler { handler(news) } else { self.untold.append(news) }
    }
}
#endif

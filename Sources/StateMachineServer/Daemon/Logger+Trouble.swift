import Logging
import StateMachineCore

/// What an administrator should know of a machine's troubles.
extension Logger {
    /// The machine makes no moves of its own; with nil that it does again.
    func log(_ suspension: Suspension?) {
        if let suspension {
            self.warning(
                "own moves are suspended until somebody sets, updates or sends something",
                metadata: ["moves": "\(suspension)"]
            )
        } else {
            self.notice("own moves are made again")
        }
    }

    /// A kind of the history's work fails, and why; with nil that it succeeds again.
    func log(_ trouble: String?, of work: HistoryWork) {
        switch (work, trouble) {
        case (.commits, let why?):
            self.error("changes are refused", metadata: ["error": "\(why)"])
        case (.commits, nil): self.notice("changes are accepted again")
        case (.pruning, let why?):
            self.warning(
                "old changes cannot be removed, trying again later",
                metadata: ["error": "\(why)"]
            )
        case (.pruning, nil): self.notice("old changes are removed again")
        case (.tidying, let why?):
            self.warning(
                "the history takes more and more of the disk, going on",
                metadata: ["error": "\(why)"]
            )
        case (.tidying, nil): self.notice("the history takes no more than it needs again")
        }
    }
}

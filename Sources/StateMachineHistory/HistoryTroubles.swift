import StateMachineCore
import StateMachineProtocol

/// Which work of a history currently fails, and why.
///
/// Belongs to the thread where groups are committed.
struct HistoryTroubles {
    private var present: [HistoryWork: String] = [:]
    private var handler: @Sendable (HistoryWork, String?) -> Void = { _, _ in }

    init(ofCommits why: String?) {
        self.present[.commits] = why
    }

    /// Calls `handler` with what fails now, and with each change of that.
    mutating func tell(_ handler: @escaping @Sendable (HistoryWork, String?) -> Void) {
        self.handler = handler
        for (work, why) in self.present { handler(work, why) }
    }

    /// Records that the work has succeeded (nil) or failed.
    mutating func note(_ failure: String?, of work: HistoryWork) {
        guard self.present[work] != failure else { return }
        self.present[work] = failure
        self.handler(work, failure)
    }
}

import StateMachineCore
import StateMachineProtocol

/// Which of a history's work fails at present, and why.
///
/// Belongs to the thread where groups are committed.
struct HistoryTroubles {
    private var present: [HistoryWork: String] = [:]
    private var handler: @Sendable (HistoryWork, String?) -> Void = { _, _ in }

    init(ofCommits why: String?) {
        self.present[.commits] = why
    }

    /// Has `handler` told of what fails, and of each change of that.
    mutating func tell(_ handler: @escaping @Sendable (HistoryWork, String?) -> Void) {
        self.handler = handler
        for (work, why) in self.present { handler(work, why) }
    }

    /// The work has succeeded (nil), or has failed.
    mutating func note(_ failure: String?, of work: HistoryWork) {
        guard self.present[work] != failure else { return }
        self.present[work] = failure
        self.handler(work, failure)
    }
}

import StateMachineProtocol

extension Retry {
    /// How many waits are listed one by one.
    private static let listed = 10

    /// When it is tried again, as a phrase: `after 1min, 2min, 4min; then it has failed, 7min in all`.
    package var schedule: String {
        var waits: [Duration] = []
        var number = 1
        while waits.count < Self.listed, let wait = self.wait(before: number) {
            waits.append(wait)
            // All further waits are the same.
            if self.times == nil && (self.factor == 1 || wait >= self.longest) { break }
            number += 1
        }
        let list = waits.map(\.timeText).joined(separator: ", ")
        guard let times = self.times, let total = self.total else {
            let isSteady = waits.last.map { $0 >= self.longest || self.factor == 1 } ?? true
            return isSteady
                ? "after \(list), and so on for ever"
                : "after \(list), … up to \(self.longest.timeText), for ever"
        }
        let more = times > waits.count ? ", … (\(times) times)" : ""
        return "after \(list)\(more); then it has failed, after \(total.timeText) of waiting"
    }
}

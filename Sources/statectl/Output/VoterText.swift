import StateMachineClient
import StateMachineCore

/// A hold or a guard as people are shown it, of a row of the answer to `stats`.
struct VoterText {
    let text: LineText

    /// `ready`, `hold 7 by root (812, deploy), for 3 min` and `backup runs`.
    func parts(_ row: JSONValue) -> [StyledText] {
        let patterns = (row["before"]?.elements ?? []).map { $0.string ?? $0.description }
        let others = row["more"]?.integer.map { ["and \($0) more"] } ?? []
        let states = (patterns + others).joined(separator: ", ").printable
        var parts = [StyledText(states, as: .state), StyledText(self.who(row), as: .aside)]
        if let why = row["why"]?.string { parts.append(StyledText(why.printable)) }
        return parts
    }

    private func who(_ row: JSONValue) -> String {
        let hold = row["hold"]
        let number = (hold ?? row["guard"])?.shortText ?? "?"
        var words = "\(hold == nil ? "guard" : "hold") \(number) by \(self.text.livePeer(row))"
        if let at = row["at"]?.string.flatMap({ WallTime(rfc3339: $0) }) {
            let seconds = (self.text.now.microseconds - at.microseconds) / 1_000_000
            words += ", for \(LineText.span(max(0, seconds)))"
        }
        return words + self.terms(row)
    }

    /// What is not as it mostly is.
    private func terms(_ row: JSONValue) -> String {
        switch (row["mode"]?.string, row["onTimeout"]?.string) {
        case ("delay", _): ", delays \(row["maxMs"]?.shortText ?? "?") ms at most"
        case (_, "deny"): ", denies if silent for \(row["timeoutMs"]?.shortText ?? "?") ms"
        default: ""
        }
    }
}

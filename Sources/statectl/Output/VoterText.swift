import StateMachineClient
import StateMachineCore

/// A hold or a guard as text for people, from a row of the reply to `stats`.
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
        if let missing = row["missing"]?.string { return self.absence(row, missing) }
        let hold = row["hold"]
        let number = (hold ?? row["guard"])?.shortText ?? "?"
        var words = "\(hold == nil ? "guard" : "hold") \(number) by \(self.text.livePeer(row))"
        if let at = row["at"]?.string.flatMap({ WallTime(rfc3339: $0) }) {
            let seconds = (self.text.now.microseconds - at.microseconds) / 1_000_000
            words += ", for \(LineText.span(max(0, seconds)))"
        }
        let required = row["required"]?.string.map { ", required as \($0.printable)" } ?? ""
        let named = row["as"]?.string.map { ", as \($0.printable)" } ?? ""
        let end = row["until"]?.string.flatMap { WallTime(rfc3339: $0) }.flatMap(self.text.second)
        let until = end.map { ", until \($0)" } ?? ""
        let away = row["away"]?.bool == true ? ", whose client is away" : ""
        return words + required + named + until + away + self.terms(row) + self.votes(row)
    }

    /// `denied: guard 7, required as display, has been gone for 3 min; last by kiosk (812)`.
    private func absence(_ row: JSONValue, _ missing: String) -> String {
        let name = row["required"]?.string?.printable ?? "?"
        let number = row["guard"]?.shortText ?? "?"
        let time = WallTime(rfc3339: missing)
        let span = time.map { (self.text.now.microseconds - $0.microseconds) / 1_000_000 }
        let gone = span.map { "has been gone for \(LineText.span(max(0, $0)))" } ?? "is gone"
        return
            "denied: guard \(number), required as \(name), \(gone); last by \(self.text.peer(row))"
    }

    /// How a guard has voted.
    private func votes(_ row: JSONValue) -> String {
        let counts = [("allowed", row["allowed"]), ("denied", row["denied"])].compactMap {
            word,
            count in
            count?.integer.flatMap { $0 > 0 ? "\(word) \($0)" : nil }
        }
        let isAsked = row["isAsked"]?.bool == true ? ["is asked now"] : []
        return (counts + isAsked).map { ", \($0)" }.joined()
    }

    /// What differs from the usual.
    private func terms(_ row: JSONValue) -> String {
        switch (row["mode"]?.string, row["onTimeout"]?.string) {
        case ("delay", _): ", delays \(row["maxMs"]?.shortText ?? "?") ms at most"
        case (_, "deny"): ", denies if silent for \(row["timeoutMs"]?.shortText ?? "?") ms"
        default: ""
        }
    }
}

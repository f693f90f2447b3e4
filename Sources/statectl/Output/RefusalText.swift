import StateMachineClient
import StateMachineCore

/// A daemon's no in one sentence for people.
struct RefusalText {
    let text: LineText

    func sentence(_ reply: Line) -> String {
        self.localized(ClientError.refused(reply).description).printable
    }

    /// The same with the protocol's times as the clock on the wall shows them.
    private func localized(_ sentence: String) -> String {
        sentence.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let end = word.last.map { [";", ",", "."].contains($0) } ?? false
            let time = WallTime(rfc3339: end ? word.dropLast() : word).flatMap(self.text.clock)
            return time.map { end ? $0 + String(word.suffix(1)) : $0 } ?? String(word)
        }
        .joined(separator: " ")
    }
}

/// A daemon's no, as it ends a command.
struct Refusal: Error {
    let sentence: String
    let status: ExitStatus
}

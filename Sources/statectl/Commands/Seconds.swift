import ArgumentParser
import StateMachineDeclaration

/// A span of time as it is typed: as in a machine's file (`200ms`, `30s`, `2min`, `1h30min`, `2d`), or plain seconds.
struct Seconds: ExpressibleByArgument {
    /// 10,000 d: 27 years.
    private static let range: ClosedRange<Int64> = 0...864_000_000_000

    let duration: Duration

    init?(argument: String) {
        do {
            self.duration = try Self.duration(argument)
        } catch {
            // The parser says that there is something; `WordCheck` asks what.
            return nil
        }
    }

    /// The time that a text states.
    static func duration(_ text: String) throws(TimeText.Objection) -> Duration {
        guard let seconds = Double(text), seconds >= 0,
            seconds * 1000 <= Double(self.range.upperBound)
        else { return try TimeText.duration(text, in: self.range) }
        return .microseconds(Int64((seconds * 1_000_000).rounded()))
    }
}

import ArgumentParser
import StateMachineDeclaration

/// A span of time as it is typed: `200ms`, `30s`, `2min`, `1h30min`, `2 days`, or plain seconds.
struct Seconds: ExpressibleByArgument {
    let duration: Duration

    /// 10^9 s: 31 years.
    private static let longest = Duration.seconds(1_000_000_000)

    /// Nil unless it is a time from 0 to 10^9 seconds, each unit given once.
    init?(argument: String) {
        let plain = Double(argument).map { Self.time($0, milliseconds: 1000) }
        let duration = plain ?? Self.sum(of: argument)
        guard let duration, duration >= .zero, duration <= Self.longest else { return nil }
        self.duration = duration
    }

    private static func sum(of text: String) -> Duration? {
        var rest = text.filter { $0 != " " }[...]
        var sum = Duration.zero
        var used: Set<TimeUnit> = []
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(name.count)
            guard let number = Double(digits), let unit = TimeUnit.called(String(name)),
                used.insert(unit).inserted,
                let part = self.time(number, milliseconds: unit.milliseconds)
            else { return nil }
            sum += part
        }
        return used.isEmpty ? nil : sum
    }

    /// Nil if it is negative, not a number, or too long; a fraction of a microsecond is rounded.
    private static func time(_ number: Double, milliseconds: Int64) -> Duration? {
        let microseconds = (number * Double(milliseconds) * 1000).rounded()
        guard microseconds >= 0, microseconds <= self.longest / .microseconds(1) else { return nil }
        return .microseconds(Int64(microseconds))
    }
}

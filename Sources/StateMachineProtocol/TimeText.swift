/// Times as people write them: `500ms`, `30s`, `2min` or `2m`, `1h30min`, `7d`.
package enum TimeText {
    /// Why a text is not a time.
    package struct Objection: Error, Hashable {
        package let sentence: String

        package init(sentence: String) { self.sentence = sentence }
    }

    /// What a file may say: from 10 ms to 400 d.
    package static let range: ClosedRange<Int64> = 10...(400 * 86_400_000)

    /// The time that a text states, the greatest unit first.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - range: how many milliseconds it may be.
    /// - Returns: the time.
    /// - Throws: `Objection`, which says what is wrong.
    package static func duration(
        _ text: String,
        in range: ClosedRange<Int64> = range
    ) throws(Objection) -> Duration {
        guard let first = text.utf8.first, first.isDigit else {
            throw Objection(sentence: "\(text.quoted) is not a time; write it like 30s or 1h30min")
        }
        var rest = Substring(text).utf8
        var total: Int64 = 0
        var smallest = Int64.max
        while !rest.isEmpty {
            let digits = rest.prefix(while: \.isDigit)
            rest = rest.dropFirst(digits.count)
            let letters = rest.prefix { !$0.isDigit }
            rest = rest.dropFirst(letters.count)
            let number = String(Substring(digits))
            let unit = try self.unit(String(Substring(letters)), of: text, number: number)
            guard unit.milliseconds < smallest else {
                throw Objection(
                    sentence: "\(text.excerpt()): write the largest unit first, and each unit once"
                )
            }
            smallest = unit.milliseconds
            let (part, isTooLong) = (Int64(number) ?? .max)
                .multipliedReportingOverflow(by: unit.milliseconds)
            let (sum, isLonger) = total.addingReportingOverflow(part)
            guard !isTooLong, !isLonger else { throw self.outOfRange(text, range) }
            total = sum
        }
        guard range.contains(total) else { throw self.outOfRange(text, range) }
        return .milliseconds(total)
    }

    private static func unit(
        _ name: String,
        of text: String,
        number: String
    ) throws(Objection) -> TimeUnit {
        let unit = TimeUnit.called(name)
        if let unit, unit.name == name || unit.shortName == name { return unit }
        let written = text.excerpt()
        let sentence =
            switch name {
            case "": "\(written): a time needs a unit; write \(number.excerpt())s"
            case let name where name.utf8.first == UInt8(ascii: "."):
                "\(written): write whole numbers, like 1h30min"
            case let name where name.utf8.contains(UInt8(ascii: " ")):
                "\(written): write it without spaces, like "
                    + ((try? self.duration(text.filter { $0 != " " }))?.timeText ?? "1h30min")
            default:
                "\(written): there is no unit \(name.quoted)"
                    + (unit.map { "; write \(number.excerpt())\($0.name)" }
                        ?? "; known: \(TimeUnit.all.reversed().map(\.name).joined(separator: ", "))")
            }
        throw Objection(sentence: sentence)
    }

    private static func outOfRange(_ text: String, _ range: ClosedRange<Int64>) -> Objection {
        let ends = [range.lowerBound, range.upperBound].map { Duration.milliseconds($0).timeText }
        return Objection(
            sentence: "\(text.excerpt()): a time must be from \(ends[0]) to \(ends[1])"
        )
    }
}

extension Duration {
    /// Whole milliseconds in it.
    package var wholeMilliseconds: Int64 {
        let parts = self.components
        return parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
    }

    /// As ``TimeText`` reads it: `1h30min`; `0s` for none.
    package var timeText: String {
        var rest = self.wholeMilliseconds
        var text = ""
        // Nobody says 57 weeks.
        for unit in TimeUnit.all where unit.name != "w" && rest >= unit.milliseconds {
            text += "\(rest / unit.milliseconds)\(unit.name)"
            rest %= unit.milliseconds
        }
        return text.isEmpty ? "0s" : text
    }
}

/// A unit of time as people write it.
package struct TimeUnit: Hashable, Sendable {
    /// Its name in a file, and where a time is shown.
    package let name: String
    /// Another name of it in a file: `m` is a minute, as for systemd, Prometheus and Go.
    fileprivate let shortName: String?
    /// What it is called elsewhere.
    private let otherNames: Set<String>
    package let milliseconds: Int64

    private init(
        _ name: String,
        _ milliseconds: Int64,
        short: String? = nil,
        or otherNames: Set<String>
    ) {
        (self.name, self.shortName) = (name, short)
        self.otherNames = otherNames
        self.milliseconds = milliseconds
    }

    /// The greatest first.
    package static let all = [
        TimeUnit("w", 604_800_000, or: ["week", "weeks"]),
        TimeUnit("d", 86_400_000, or: ["day", "days"]),
        TimeUnit("h", 3_600_000, or: ["hr", "hrs", "hour", "hours"]),
        TimeUnit("min", 60_000, short: "m", or: ["mins", "minute", "minutes"]),
        TimeUnit("s", 1000, or: ["sec", "secs", "second", "seconds"]),
        TimeUnit("ms", 1, or: ["msec", "msecs", "millisecond", "milliseconds"]),
    ]

    /// The unit that has that name among its names.
    package static func called(_ name: String) -> TimeUnit? {
        self.all.first {
            $0.name == name || $0.shortName == name || $0.otherNames.contains(name)
        }
    }
}

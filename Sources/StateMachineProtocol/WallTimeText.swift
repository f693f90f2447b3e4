public import FoundationEssentials
public import StateMachineCore

extension Date {
    /// The moment, to the microsecond.
    public init(_ time: WallTime) {
        self.init(timeIntervalSince1970: Double(time.microseconds) / 1_000_000)
    }
}

extension WallTime {
    /// The moment, to the microsecond; beyond the range of RFC 3339, the nearest in it.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        // What does not fit into microseconds is outside RFC 3339 as well.
        let bounded = min(max(microseconds.isNaN ? 0 : microseconds, -1e18), 1e18)
        self.init(microseconds: Int64(bounded))
    }
}

extension WallTime {
    /// RFC 3339 in UTC with microseconds: `2026-11-20T21:55:03.120007Z`.
    ///
    /// RFC 3339 has the years 0 to 9999; a moment outside them is shown as the nearest one inside.
    package var rfc3339: String { LineWriter.text { $0.time(self) } }

    /// The moment that such a text names; nil if it is not one.
    ///
    /// Only this form is accepted: UTC as `Z`, six digits after the point.
    package init?(rfc3339 text: some StringProtocol) {
        self.init(reading: String(text))
        guard self.rfc3339.utf8.elementsEqual(text.utf8) else { return nil }
    }

    /// The moment that any text of RFC 3339 names: with or without a fraction, in UTC or with an offset; nil if it
    /// names none.
    package init?(reading text: String) {
        var bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[10] | 0x20 == UInt8(ascii: "t") else { return nil }
        bytes[10] = UInt8(ascii: "T")
        func number(_ digits: Range<Int>) -> Int64 {
            bytes[digits].reduce(0) { $0 * 10 + Int64($1) - 48 }
        }
        let days = Self.days(year: number(0..<4), month: number(5..<7), day: number(8..<10))
        let second = number(11..<13) * 3600 + number(14..<16) * 60 + number(17..<19)
        let local = WallTime(microseconds: (days * 86400 + second) * 1_000_000)
        // What is no digit, and a day or an hour that does not exist, comes back as another.
        guard local.rfc3339.utf8.starts(with: bytes[..<19]) else { return nil }
        let hasFraction = bytes[19] == UInt8(ascii: ".")
        let digits = bytes[(hasFraction ? 20 : 19)...].prefix(while: \.isDigit)
        guard digits.isEmpty != hasFraction, let offset = Self.offset(bytes[digits.endIndex...])
        else { return nil }
        // Six digits are kept.
        let fraction = (0..<6).reduce(Int64(0)) { value, index in
            value * 10 + (index < digits.count ? Int64(digits[digits.startIndex + index]) - 48 : 0)
        }
        self.init(microseconds: local.microseconds + fraction - offset * 60_000_000)
    }

    /// The minutes that an offset is ahead of UTC; nil if it is not an offset.
    private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
        let text = Array(bytes)
        if text.count == 1, text[0] | 0x20 == UInt8(ascii: "z") { return 0 }
        guard text.count == 6, text[3] == UInt8(ascii: ":"),
            text[0] == UInt8(ascii: "+") || text[0] == UInt8(ascii: "-")
        else { return nil }
        let numbers = [text[1], text[2], text[4], text[5]].map { Int64($0) - 48 }
        guard numbers.allSatisfy({ (0...9).contains($0) }) else { return nil }
        let (hours, minutes) = (numbers[0] * 10 + numbers[1], numbers[2] * 10 + numbers[3])
        guard hours < 24, minutes < 60 else { return nil }
        return (hours * 60 + minutes) * (text[0] == UInt8(ascii: "-") ? -1 : 1)
    }

    /// The nearest moment that RFC 3339 can name, in microseconds.
    var shown: Int64 { min(max(self.microseconds, Self.earliest), Self.latest) }

    /// 0000-01-01T00:00:00.000000Z.
    fileprivate static let earliest: Int64 = -62_167_219_200_000_000

    /// 9999-12-31T23:59:59.999999Z.
    fileprivate static let latest: Int64 = 253_402_300_799_999_999

    /// The civil date of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
    ///
    /// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in March, eras
    /// last 400 years.
    static func civil(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
            month,
            dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        )
    }

    /// The inverse of ``civil(day:)``.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

extension Int64 {
    func dividedFlooring(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

import ArgumentParser
import Glibc
import StateMachineClient
import StateMachineCore

/// A moment or a place among old changes as it is typed: a time, how long from now, the number of a change, or a cursor.
struct TypedPosition {
    /// Examples, for a place that cannot be read.
    static let example = "22:40, \"yesterday 22:40\", \"2026-11-20 22:40\", 1h, 41 or a cursor"
    /// Examples, for an end that cannot be read.
    static let endExample = "18:00, \"mon 9:00\", \"2026-12-01 09:00\" or 2d"

    let now: WallTime
    let isUTC: Bool
    /// Whether of several past moments that a clock shows the same way the last is meant, as at the end of a span.
    var isLater = false

    /// The place that a text names; nil if it names none.
    func position(_ text: String) -> HistoryPosition? {
        if let seq = UInt64(text.hasPrefix("#") ? String(text.dropFirst()) : text) {
            return seq < RequestLimits.integerBound ? .seq(seq) : nil
        }
        let span = text.hasSuffix(" ago") ? String(text.dropLast(4)) : text
        if let time = self.time(text, span, ahead: -1) { return .time(time) }
        // What looks like a time of day is not a cursor, though 22:99 could be one.
        guard text.prefix(while: { $0 != ":" }).utf8.count > 2 else { return nil }
        return Cursor(text).map { .cursor($0.description) }
    }

    /// The next time that a text names, such as `18:00`, `mon 9:00`, `tomorrow`, `"2026-12-01 09:00"`, or how long from
    /// now; nil if it names none.
    func next(_ text: String) -> WallTime? { self.time(text, text, ahead: 1) }

    /// The moment that a text names; `span` is the part of it that may be how far from now it is, in that direction.
    private func time(_ text: String, _ span: String, ahead direction: Int32) -> WallTime? {
        if text == "now" { return self.now }
        if let time = WallTime(reading: text) ?? self.moment(span, ahead: direction) { return time }
        guard let (days, clock) = self.named(text, ahead: direction) else { return nil }
        for day in days {
            let moments = self.moments(day, clock).filter {
                direction > 0 ? $0 > self.now : $0 <= self.now
            }
            let isLast = direction < 0 && self.isLater
            if let moment = isLast ? moments.max() : moments.min() { return moment }
        }
        // The day that was named is wholly on the other side of now.
        let moments = self.moments(days[0], clock)
        return self.isLater ? moments.max() : moments.min()
    }

    /// The days that a text may mean, the nearest first, and the time of day, in microseconds from midnight; nil if it
    /// names none.
    private func named(_ text: String, ahead direction: Int32) -> (days: [tm], clock: Int64)? {
        let isJoined = text.utf8.count > 10 && text.dropFirst(10).first == "T"
        let words = isJoined ? [text.prefix(10), text.dropFirst(11)] : text.split(separator: " ")
        guard let first = words.first?.lowercased(), words.count <= 2 else { return nil }
        if words.count == 1, let clock = Self.clock(first) {
            return ([self.day(), self.day(ahead: direction)], clock)
        }
        guard let clock = words.count == 2 ? Self.clock(String(words[1])) : 0 else { return nil }
        switch first {
        case "yesterday": return ([self.day(ahead: -1)], clock)
        case "today": return ([self.day()], clock)
        case "tomorrow": return ([self.day(ahead: 1)], clock)
        default: break
        }
        if let day = Self.day(first) { return ([day], clock) }
        guard first.utf8.count >= 3, let day = Self.days.firstIndex(where: { $0.hasPrefix(first) })
        else { return nil }
        let away = ((Int32(day) - self.day().tm_wday) * direction + 7) % 7
        return ([away, away + 7].map { self.day(ahead: $0 * direction) }, clock)
    }

    /// The names of the days, of which three letters are enough.
    private static let days = [
        "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
    ]

    /// The calendar's day that many days from now.
    private func day(ahead days: Int32 = 0) -> tm {
        var fields = self.now.fields(inUTC: self.isUTC) ?? tm()
        fields.tm_mday += days
        return fields
    }

    /// The moment that is as far from now as a text with a unit says; nil if it is none.
    private func moment(_ text: String, ahead direction: Int32) -> WallTime? {
        guard let span = Seconds(argument: text)?.duration,
            text.utf8.last.map({ $0 > 0x39 }) ?? false
        else { return nil }
        return WallTime(
            microseconds: self.now.microseconds + Int64(direction) * span.wholeMicroseconds
        )
    }

    /// The moments at which a clock shows that on that day, in microseconds from midnight, one at least: where clocks are
    /// set back there are two; where they are set forward there may be none, and then it is what a clock would show that
    /// had not been set.
    private func moments(_ day: tm, _ clock: Int64) -> [WallTime] {
        let second = Int32(clock / 1_000_000)
        var fields = tm()
        (fields.tm_year, fields.tm_mon, fields.tm_mday) = (day.tm_year, day.tm_mon, day.tm_mday)
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (
            second / 3600, second / 60 % 60, second % 60
        )
        let shown = timegm(&fields)
        func moment(_ seconds: time_t) -> WallTime {
            WallTime(microseconds: Int64(seconds) * 1_000_000 + clock % 1_000_000)
        }
        /// By how much clocks are ahead of UTC then.
        func offset(_ seconds: time_t) -> time_t {
            moment(seconds).fields(inUTC: self.isUTC)?.tm_gmtoff ?? 0
        }
        // No zone is a day from UTC, so that these are the offsets before the clocks are set and after it.
        let (before, after) = (shown - offset(shown - 86_400), shown - offset(shown + 86_400))
        let found = Set([before, after]).filter { $0 + offset($0) == shown }
        return found.isEmpty ? [moment(before)] : found.map(moment)
    }

    /// `2026-11-20`; nil if there is no such day.
    private static func day(_ text: String) -> tm? {
        guard text.utf8.count == 10, WallTime(reading: "\(text)T00:00:00Z") != nil else {
            return nil
        }
        let numbers = text.split(separator: "-").compactMap { Int32(String($0)) }
        var day = tm()
        (day.tm_year, day.tm_mon, day.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        return day
    }

    /// `22:40`, `22:40:05` or `22:40:05.123` in microseconds from midnight; nil for anything else.
    private static func clock(_ text: String) -> Int64? {
        let hour = text.prefix { $0 != ":" }.utf8.count
        // Nine digits after the point are more than any clock shows.
        guard (1...2).contains(hour), text.utf8.count <= hour + 16 else { return nil }
        let whole = (hour == 1 ? "0" : "") + text + (text.utf8.count == hour + 3 ? ":00" : "")
        return WallTime(reading: "1970-01-01T\(whole)Z")?.microseconds
    }
}

extension SharedOptions {
    /// The place that an option names; nil if it was not given.
    func position(_ option: String, _ text: String?) throws -> HistoryPosition? {
        guard let text else { return nil }
        let typed = TypedPosition(now: .now, isUTC: self.utc, isLater: option == "--until")
        guard let position = typed.position(text) else {
            throw ValidationError(
                "\(option) is neither a time nor a change: \(text.quoted); write \(TypedPosition.example)"
            )
        }
        return position
    }
}

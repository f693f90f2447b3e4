import ArgumentParser
import Glibc
import StateMachineClient
import StateMachineCore

/// Fields as they are typed after a command: words, or all of them as one object.
struct TypedValues: ParsableArguments {
    @Option(help: .value("json", "All values as one JSON object; - reads it from standard input."))
    var data: String?

    /// The fields as typed: words keep their text, as the daemon knows the fields' types.
    ///
    /// - Parameters:
    ///   - words: `key=value`, `key:=JSON`, or a value alone.
    ///   - isUpdate: whether `key+=number` is possible.
    /// - Returns: nil if nothing is given.
    /// - Throws: `ValidationError`, or why standard input cannot be read.
    func fields(_ words: [String], isUpdate: Bool = false) throws -> FieldWords? {
        guard let text = self.data else {
            return words.isEmpty ? nil : try Self.fields(words, isUpdate)
        }
        let object = text == "-" ? try StandardInput.text(upTo: RequestLimits.lineBytes) : text
        var parser = JSONParser(Array(object.utf8))
        let value: JSONValue
        do {
            value = try parser.parse()
        } catch {
            throw ValidationError("--data is not JSON: \(error.message) at byte \(error.offset)")
        }
        if let key = parser.doubledKey {
            throw ValidationError("--data has the key \(key.quoted) twice in one object")
        }
        guard let members = value.members else {
            throw ValidationError("--data is not a JSON object, like '{\"key\":\"value\"}'")
        }
        return FieldWords(values: members)
    }

    /// Reports what can be told to be wrong before anything is read.
    func check(_ words: [String], isUpdate: Bool = false) throws {
        _ = try Self.fields(words, isUpdate)
        guard self.data == nil || words.isEmpty else {
            throw ValidationError("give the values as key=value or with --data, not both")
        }
    }

    private static func fields(_ words: [String], _ isUpdate: Bool) throws -> FieldWords {
        guard !words.contains("") else {
            throw ValidationError("a word is empty; write key= for an empty text")
        }
        do {
            return try FieldWords(words, in: "the command line", isUpdate: isUpdate)
        } catch {
            throw ValidationError(error.message)
        }
    }
}

/// A place among old changes as it is typed: a time, how long ago, the number of a change, or a cursor.
struct TypedPlace {
    /// Examples, for a place that cannot be read.
    static let example = "22:40, \"2026-11-20 22:40\", 1h, 41 or a cursor"

    let now: WallTime
    private let isUTC: Bool
    /// Whether of two moments that a clock shows the same the later is meant, as at the end of a span.
    private let isLater: Bool

    init(now: WallTime, isUTC: Bool, isLater: Bool = false) {
        (self.now, self.isUTC, self.isLater) = (now, isUTC, isLater)
    }

    /// The place that an option names; nil if it was not given.
    static func place(_ option: String, _ text: String?, isUTC: Bool) throws -> HistoryPlace? {
        guard let text else { return nil }
        let typed = TypedPlace(now: .now, isUTC: isUTC, isLater: option == "--until")
        guard let place = typed.place(text) else {
            throw ValidationError(
                "\(option) is neither a time nor a change: \(text.quoted); write \(self.example)"
            )
        }
        return place
    }

    /// The place that a text names; nil if it names none.
    func place(_ text: String) -> HistoryPlace? {
        if let seq = UInt64(text.hasPrefix("#") ? String(text.dropFirst()) : text) {
            return seq < RequestLimits.integerBound ? .seq(seq) : nil
        }
        if let time = self.time(text) { return .time(time) }
        // What looks like a time of day is not a cursor, though 22:99 could be one.
        guard text.prefix(while: { $0 != ":" }).utf8.count > 2 else { return nil }
        return Cursor(text).map { .cursor($0.description) }
    }

    private func time(_ text: String) -> WallTime? {
        switch text {
        case "now": return self.now
        case "today": return self.midnight(daysAgo: 0)
        case "yesterday": return self.midnight(daysAgo: 1)
        default: break
        }
        if let time = WallTime(reading: text) { return time }
        let text = text.hasSuffix(" ago") ? String(text.dropLast(4)) : text
        if let ago = Seconds(argument: text), text.utf8.last.map({ $0 > 0x39 }) ?? false {
            return WallTime(microseconds: self.now.microseconds - ago.duration.wholeMicroseconds)
        }
        let parts = text.split(separator: text.contains("T") ? "T" : " ", maxSplits: 1)
            .map(String.init)
        guard let first = parts.first else { return nil }
        if parts.count == 1, let clock = TimeOfDay(first) { return self.latest(clock) }
        guard let date = CivilDate(first) else { return nil }
        guard parts.count == 2 else { return self.moment(date, TimeOfDay(hour: 0)) }
        return TimeOfDay(parts[1]).flatMap { self.moment(date, $0) }
    }

    /// The last time that the clock showed that.
    private func latest(_ clock: TimeOfDay) -> WallTime? {
        guard let today = self.moment(self.date(daysAgo: 0), clock) else { return nil }
        return today <= self.now ? today : self.moment(self.date(daysAgo: 1), clock)
    }

    private func midnight(daysAgo days: Int32) -> WallTime? {
        self.moment(self.date(daysAgo: days), TimeOfDay(hour: 0))
    }

    func date(daysAgo days: Int32) -> CivilDate {
        let fields = self.today
        return CivilDate(
            year: fields.tm_year + 1900,
            month: fields.tm_mon + 1,
            day: fields.tm_mday - days
        )
    }

    /// The present moment by the calendar.
    var today: tm {
        var seconds = time_t(self.now.microseconds / 1_000_000)
        var fields = tm()
        if self.isUTC {
            gmtime_r(&seconds, &fields)
        } else {
            localtime_r(&seconds, &fields)
        }
        return fields
    }

    /// The moment at which a clock shows that: where clocks are set back there are two, where they are set forward there
    /// may be none, and then it is what the system takes it for.
    func moment(_ date: CivilDate, _ clock: TimeOfDay) -> WallTime? {
        var fields = tm()
        fields.tm_year = date.year - 1900
        fields.tm_mon = date.month - 1
        fields.tm_mday = date.day
        fields.tm_hour = clock.hour
        fields.tm_min = clock.minute
        fields.tm_sec = clock.second
        guard !self.isUTC else { return self.wall(timegm(&fields), clock) }
        // -1: whether it is summer time is for the system to know.
        let moments = [Int32(-1), 0, 1].map { isSummer -> (seconds: time_t, isShown: Bool) in
            var shown = fields
            shown.tm_isdst = isSummer
            let seconds = mktime(&shown)
            return (seconds, shown.tm_hour == clock.hour && shown.tm_min == clock.minute)
        }
        let shown = moments.filter(\.isShown).map(\.seconds)
        return self.wall((self.isLater ? shown.max() : shown.min()) ?? moments[0].seconds, clock)
    }

    private func wall(_ seconds: time_t, _ clock: TimeOfDay) -> WallTime {
        WallTime(microseconds: Int64(seconds) * 1_000_000 + clock.microseconds)
    }
}

/// A day of the calendar; day 0 is the last day of the month before.
struct CivilDate {
    let year: Int32
    let month: Int32
    let day: Int32

    init(year: Int32, month: Int32, day: Int32) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// `2026-11-20`; nil if there is no such day.
    init?(_ text: String) {
        guard text.utf8.count == 10, WallTime(reading: "\(text)T00:00:00Z") != nil else {
            return nil
        }
        let numbers = text.split(separator: "-").compactMap { Int32(String($0)) }
        self.init(year: numbers[0], month: numbers[1], day: numbers[2])
    }
}

/// A time of day.
struct TimeOfDay {
    let hour: Int32
    let minute: Int32
    let second: Int32
    let microseconds: Int64

    init(hour: Int32) {
        (self.hour, self.minute, self.second, self.microseconds) = (hour, 0, 0, 0)
    }

    /// `22:40`, `22:40:05` or `22:40:05.123`; nil for anything else.
    init?(_ text: String) {
        let hour = text.prefix { $0 != ":" }.utf8.count
        // Nine digits after the point are more than any clock shows.
        guard (1...2).contains(hour), text.utf8.count <= hour + 16 else { return nil }
        let whole = (hour == 1 ? "0" : "") + text + (text.utf8.count == hour + 3 ? ":00" : "")
        guard let time = WallTime(reading: "1970-01-01T\(whole)Z")?.microseconds else { return nil }
        let second = Int32(time / 1_000_000)
        (self.hour, self.minute, self.second) = (second / 3600, second / 60 % 60, second % 60)
        self.microseconds = time % 1_000_000
    }
}

/// A time to come, as it is typed: `18:00`, `mon 9:00`, `tomorrow`, `"2026-12-01 09:00"`, or how long from now.
extension TypedPlace {
    /// Examples, for an end that cannot be read.
    static let endExample = "18:00, \"mon 9:00\", \"2026-12-01 09:00\" or 2d"

    /// The names of the days, of which three letters are enough.
    private static let days = [
        "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
    ]

    /// The next time that a text names; nil if it names none.
    func next(_ text: String) -> WallTime? {
        if let time = WallTime(reading: text) { return time }
        if let span = Seconds(argument: text), text.utf8.last.map({ $0 > 0x39 }) ?? false {
            return WallTime(
                microseconds: self.now.microseconds + span.duration.wholeMicroseconds
            )
        }
        let words = text.lowercased().split(separator: " ").map(String.init)
        guard let first = words.first, words.count <= 2 else { return nil }
        if words.count == 1, let time = TimeOfDay(first) {
            let today = self.moment(self.date(daysAgo: 0), time)
            return today.flatMap { $0 > self.now ? $0 : self.moment(self.date(daysAgo: -1), time) }
        }
        let time = words.count == 2 ? TimeOfDay(words[1]) : TimeOfDay(hour: 0)
        guard let time else { return nil }
        switch first {
        case "today": return self.moment(self.date(daysAgo: 0), time)
        case "tomorrow": return self.moment(self.date(daysAgo: -1), time)
        default: break
        }
        if let date = CivilDate(first) { return self.moment(date, time) }
        guard first.utf8.count >= 3, let day = Self.days.firstIndex(where: { $0.hasPrefix(first) })
        else { return nil }
        let ahead = (Int32(day) - self.today.tm_wday + 7) % 7
        guard let moment = self.moment(self.date(daysAgo: -ahead), time) else { return nil }
        return moment > self.now ? moment : self.moment(self.date(daysAgo: -ahead - 7), time)
    }
}

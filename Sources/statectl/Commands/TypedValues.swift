import ArgumentParser
import Glibc
import Processes
import StateMachineClient
import StateMachineCore
import SystemPackage

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

    /// What they, the conditions and the cause ask for.
    func call(
        _ name: String,
        _ words: [String],
        _ conditions: Conditions,
        _ cause: String?,
        isUpdate: Bool = false
    ) throws -> ChangeCall {
        let fields = try self.fields(words, isUpdate: isUpdate)
        var call = ChangeCall(of: name)
        (call.words, call.add) = (fields?.words ?? [], fields?.amounts ?? [])
        // An update that only adds has no data.
        let values = fields?.values ?? []
        if fields != nil, call.add.isEmpty || !values.isEmpty { call.data = .object(values) }
        (call.ifSeq, call.ifStay) = (
            conditions.ifSeq.map { .seq($0) }, conditions.ifStay.map { .seq($0) }
        )
        call.cause = cause
        call.ifState = conditions.patterns.isEmpty ? nil : PatternList(conditions.patterns)
        return call
    }

    /// Reports what can be told to be wrong before anything is read.
    func check(_ words: [String], cause: String?, isUpdate: Bool = false) throws {
        _ = try Self.fields(words, isUpdate)
        guard self.data == nil || words.isEmpty else {
            throw ValidationError("give the values as key=value or with --data, not both")
        }
        try OptionLimits.checkText("--cause", cause)
    }

    private static func fields(_ words: [String], _ isUpdate: Bool) throws -> FieldWords {
        try demand(!words.contains(""), "an argument is empty; write key= for an empty text")
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
    let isUTC: Bool
    /// Whether of two moments that a clock shows the same the later is meant, as at the end of a span.
    var isLater = false

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
        case "today": return self.moment(self.day())
        case "yesterday": return self.moment(self.day(ahead: -1))
        default: break
        }
        let span = text.hasSuffix(" ago") ? String(text.dropLast(4)) : text
        if let time = WallTime(reading: text) ?? self.moment(span, ahead: -1) { return time }
        let parts = text.split(separator: text.contains("T") ? "T" : " ", maxSplits: 1)
            .map(String.init)
        guard let first = parts.first else { return nil }
        if parts.count == 1, let clock = Self.clock(first) {
            // The last time that the clock showed that.
            let today = self.moment(self.day(), clock)
            return today <= self.now ? today : self.moment(self.day(ahead: -1), clock)
        }
        guard let day = Self.day(first) else { return nil }
        guard parts.count == 2 else { return self.moment(day) }
        return Self.clock(parts[1]).map { self.moment(day, $0) }
    }

    /// The calendar's day that many days from now.
    private func day(ahead days: Int32 = 0) -> tm {
        var fields = self.now.fields(inUTC: self.isUTC) ?? tm()
        fields.tm_mday += days
        return fields
    }

    /// The moment that is as far from now as a text with a unit says; nil if it is none.
    private func moment(_ text: String, ahead direction: Int64) -> WallTime? {
        guard let span = Seconds(argument: text)?.duration,
            text.utf8.last.map({ $0 > 0x39 }) ?? false
        else { return nil }
        return WallTime(microseconds: self.now.microseconds + direction * span.wholeMicroseconds)
    }

    /// The moment at which a clock shows that, in microseconds from midnight: where clocks are set back there are two,
    /// where they are set forward there may be none, and then it is what the system takes it for.
    private func moment(_ day: tm, _ clock: Int64 = 0) -> WallTime {
        let second = Int32(clock / 1_000_000)
        var fields = tm()
        (fields.tm_year, fields.tm_mon, fields.tm_mday) = (day.tm_year, day.tm_mon, day.tm_mday)
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (
            second / 3600, second / 60 % 60, second % 60
        )
        func wall(_ seconds: time_t) -> WallTime {
            WallTime(microseconds: Int64(seconds) * 1_000_000 + clock % 1_000_000)
        }
        guard !self.isUTC else { return wall(timegm(&fields)) }
        // -1: whether it is summer time is for the system to know.
        let moments = [Int32(-1), 0, 1].map { isSummer -> (seconds: time_t, isShown: Bool) in
            var shown = fields
            shown.tm_isdst = isSummer
            let seconds = mktime(&shown)
            return (seconds, shown.tm_hour == fields.tm_hour && shown.tm_min == fields.tm_min)
        }
        let shown = moments.filter(\.isShown).map(\.seconds)
        return wall((self.isLater ? shown.max() : shown.min()) ?? moments[0].seconds)
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

    // MARK: - A time to come

    /// Examples, for an end that cannot be read.
    static let endExample = "18:00, \"mon 9:00\", \"2026-12-01 09:00\" or 2d"

    /// The names of the days, of which three letters are enough.
    private static let days = [
        "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
    ]

    /// The next time that a text names, such as `18:00`, `mon 9:00`, `tomorrow`, `"2026-12-01 09:00"`, or how long from
    /// now; nil if it names none.
    func next(_ text: String) -> WallTime? {
        if let time = WallTime(reading: text) ?? self.moment(text, ahead: 1) { return time }
        let words = text.lowercased().split(separator: " ").map(String.init)
        guard let first = words.first, words.count <= 2 else { return nil }
        if words.count == 1, let clock = Self.clock(first) {
            let today = self.moment(self.day(), clock)
            return today > self.now ? today : self.moment(self.day(ahead: 1), clock)
        }
        guard let clock = words.count == 2 ? Self.clock(words[1]) : 0 else { return nil }
        switch first {
        case "today": return self.moment(self.day(), clock)
        case "tomorrow": return self.moment(self.day(ahead: 1), clock)
        default: break
        }
        if let day = Self.day(first) { return self.moment(day, clock) }
        guard first.utf8.count >= 3, let day = Self.days.firstIndex(where: { $0.hasPrefix(first) })
        else { return nil }
        let ahead = (Int32(day) - self.day().tm_wday + 7) % 7
        let moment = self.moment(self.day(ahead: ahead), clock)
        return moment > self.now ? moment : self.moment(self.day(ahead: ahead + 7), clock)
    }
}

extension SharedOptions {
    /// The place that an option names; nil if it was not given.
    func place(_ option: String, _ text: String?) throws -> HistoryPlace? {
        guard let text else { return nil }
        let typed = TypedPlace(now: .now, isUTC: self.utc, isLater: option == "--until")
        guard let place = typed.place(text) else {
            throw ValidationError(
                "\(option) is neither a time nor a change: \(text.quoted); write \(TypedPlace.example)"
            )
        }
        return place
    }
}

/// Standard input, for commands that read what they are given there.
enum StandardInput {
    /// The whole of it, up to its end.
    ///
    /// - Parameter limit: the most bytes; more are refused.
    /// - Returns: the text.
    /// - Throws: `ValidationError`, or why it cannot be read.
    static func text(upTo limit: Int) throws -> String {
        let bytes = try FileDescriptor.standardInput.bytes(atMost: limit + 1, waiting: true)
        try demand(bytes.count <= limit, "standard input is longer than \(limit) bytes")
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ValidationError("standard input is not UTF-8")
        }
        return text
    }
}

import Glibc
import StateMachineClient
import StateMachineCore

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

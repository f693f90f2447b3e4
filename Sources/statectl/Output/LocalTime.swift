import Glibc
import StateMachineCore

/// A moment as a wall clock shows it.
struct LocalTime: Equatable {
    let date: String
    let time: String

    init(date: String, time: String) {
        self.date = date
        self.time = time
    }

    /// In this process's time zone, or in UTC, marked `Z`; nil beyond the years the system knows.
    init?(_ moment: WallTime, inUTC isUTC: Bool = false) {
        let microseconds = moment.microseconds
        var seconds = time_t(microseconds / 1_000_000)
        var fields = tm()
        guard microseconds >= 0,
            (isUTC ? gmtime_r(&seconds, &fields) : localtime_r(&seconds, &fields)) != nil
        else { return nil }
        func digits(_ number: some BinaryInteger, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let year = digits(fields.tm_year + 1900, 4)
        self.date = "\(year)-\(digits(fields.tm_mon + 1, 2))-\(digits(fields.tm_mday, 2))"
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map { digits($0, 2) }
        let thousandths = digits(microseconds / 1000 % 1000, 3)
        self.time = "\(clock.joined(separator: ":")).\(thousandths)\(isUTC ? "Z" : "")"
    }

    /// The time, with the date before it if that is not today's.
    func text(today: LocalTime?) -> String {
        self.date == today?.date ? self.time : "\(self.date) \(self.time)"
    }
}

/// A unit of time as people write it.
package struct TimeUnit: Hashable, Sendable {
    /// Its name in a file.
    package let name: String
    /// Its other names on a command line.
    private let otherNames: Set<String>
    package let milliseconds: Int64

    private init(_ name: String, _ milliseconds: Int64, or otherNames: Set<String>) {
        self.name = name
        self.otherNames = otherNames
        self.milliseconds = milliseconds
    }

    /// The greatest first.
    package static let all = [
        TimeUnit("w", 604_800_000, or: ["week", "weeks"]),
        TimeUnit("d", 86_400_000, or: ["day", "days"]),
        TimeUnit("h", 3_600_000, or: ["hr", "hrs", "hour", "hours"]),
        TimeUnit("min", 60_000, or: ["m", "mins", "minute", "minutes"]),
        TimeUnit("s", 1000, or: ["sec", "secs", "second", "seconds"]),
        TimeUnit("ms", 1, or: ["msec", "msecs", "millisecond", "milliseconds"]),
    ]

    /// The unit that has that name among its names.
    package static func called(_ name: String) -> TimeUnit? {
        self.all.first { $0.name == name || $0.otherNames.contains(name) }
    }
}

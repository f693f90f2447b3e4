import ArgumentParser
import Glibc
import StateMachineClient
import StateMachineCore
import StateMachineProtocol
import Testing

@testable import statectl

/// Places among old changes as they are typed.
@Suite(.serialized) struct TypedPlaceTests {
    /// Where clocks are set back, an hour comes twice: a span of the past has to have all of it.
    @Test(arguments: [
        ("2026-10-25 02:30", "2026-10-25T00:30:00.000000Z", "2026-10-25T01:30:00.000000Z"),
        ("2026-10-25 01:59", "2026-10-24T23:59:00.000000Z", "2026-10-24T23:59:00.000000Z"),
        ("2026-10-25 03:00", "2026-10-25T02:00:00.000000Z", "2026-10-25T02:00:00.000000Z"),
        // There is no such moment; what the system takes it for is as good for both.
        ("2026-03-29 02:30", "2026-03-29T01:30:00.000000Z", "2026-03-29T01:30:00.000000Z"),
    ])
    func anHourThatComesTwiceIsTheFirstOneSinceAndTheLastUntil(
        text: String,
        since: String,
        until: String
    ) throws {
        // The rule itself and not a name, for which there may be no file.
        setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1)
        tzset()
        defer {
            unsetenv("TZ")
            tzset()
        }
        #expect(try self.time("--since", text) == since)
        #expect(try self.time("--until", text) == until)
    }

    @Test(
        arguments: [
            ("2028-02-29 22:40", "2028-02-29T22:40:00.000000Z"),
            ("2026-11-20T9:05:07", "2026-11-20T09:05:07.000000Z"),
            ("2026-11-20 22:40:05.1", "2026-11-20T22:40:05.100000Z"),
            ("2026-11-20 22:40:05.123456789", "2026-11-20T22:40:05.123456Z"),
            ("2026-11-20", "2026-11-20T00:00:00.000000Z"),
            ("2026-02-29 22:40", nil), ("2026-13-01", nil), ("2026-00-01", nil), ("2026-1-01", nil),
            ("2026-11-20 24:00", nil), ("2026-11-20 22:60", nil), ("2026-11-20 22:4", nil),
            ("2026-11-20 22:40:60", nil), ("2026-11-20 22:40:05.", nil),
            ("2026-11-20 22:40:5", nil),
            ("2026-11-20 22:40:05.1234567890", nil), ("2026-11-20 022:40", nil),
            ("2026-11-20 +2:40", nil), ("2026-11-20 22:40+0", nil), ("2026-11-20 :40", nil),
            ("2026-11-20 22", nil), ("2026-11-20 22:", nil),
        ] as [(String, String?)]
    )
    func aDateAndATimeAreWhatACalendarAndAClockShow(text: String, time: String?) {
        let typed = TypedPlace(now: .now, isUTC: true).place(text)
        let shown: String? = if case .time(let time)? = typed { time.rfc3339 } else { nil }
        #expect(shown == time)
    }

    private func time(_ option: String, _ text: String) throws -> String? {
        let place = try SharedOptions.parse([]).place(option, text)
        guard case .time(let time)? = place else { return nil }
        return time.rfc3339
    }

    /// A Friday.
    private static let now = "2026-11-20T12:30:00Z"

    @Test(arguments: [
        ("18:00", "2026-11-20T18:00:00.000000Z"),
        ("9:00", "2026-11-21T09:00:00.000000Z"),
        ("today 18:00", "2026-11-20T18:00:00.000000Z"),
        ("tomorrow", "2026-11-21T00:00:00.000000Z"),
        ("tomorrow 7:15", "2026-11-21T07:15:00.000000Z"),
        ("mon 9:00", "2026-11-23T09:00:00.000000Z"),
        ("Monday", "2026-11-23T00:00:00.000000Z"),
        ("fri 13:00", "2026-11-20T13:00:00.000000Z"),
        ("fri 9:00", "2026-11-27T09:00:00.000000Z"),
        ("2026-12-01", "2026-12-01T00:00:00.000000Z"),
        ("2026-12-01 09:30", "2026-12-01T09:30:00.000000Z"),
        ("2026-12-01T09:30:00+02:00", "2026-12-01T07:30:00.000000Z"),
        ("2d", "2026-11-22T12:30:00.000000Z"),
        ("1h30min", "2026-11-20T14:00:00.000000Z"),
    ])
    func theNextTimeOfThatNameIsMeant(text: String, time: String) throws {
        let now = try #require(WallTime(reading: Self.now))
        let end = TypedPlace(now: now, isUTC: true).next(text)
        #expect(end?.rfc3339 == time)
    }

    @Test(arguments: ["", "soon", "mo 9:00", "25:00", "mon 9", "mon tue", "2026-02-30", "41"])
    func whatIsNoTimeIsNone(text: String) throws {
        let now = try #require(WallTime(reading: Self.now))
        #expect(TypedPlace(now: now, isUTC: true).next(text) == nil)
    }
}

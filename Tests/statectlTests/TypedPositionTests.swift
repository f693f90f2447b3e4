import ArgumentParser
import Glibc
import StateMachineClient
import StateMachineCore
import StateMachineProtocol
import Testing

@testable import statectl

/// Places among old changes as they are typed.
@Suite(.serialized) struct TypedPositionTests {
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
        try Self.inMiddleEurope {
            let now = "2026-11-20T12:30:00Z"
            let found = (try Self.past(text, at: now), try Self.past(text, at: now, isLater: true))
            #expect(found == (since, until))
        }
    }

    /// Of all moments at which a clock shows that, one before now has passed, and one after now is still to come.
    @Test(arguments: [
        // 02:10 for the first time, and for the second.
        ("2026-10-25T00:10:00Z", "02:30", "2026-10-25T00:30:00.000000Z"),
        ("2026-10-25T01:10:00Z", "02:30", "2026-10-25T01:30:00.000000Z"),
        ("2026-10-25T01:10:00Z", "sun 02:30", "2026-10-25T01:30:00.000000Z"),
        ("2026-10-25T01:10:00Z", "today 02:30", "2026-10-25T01:30:00.000000Z"),
        ("2026-10-25T01:10:00Z", "2026-10-25 02:30", "2026-10-25T01:30:00.000000Z"),
        ("2026-10-25T01:40:00Z", "02:30", "2026-10-26T01:30:00.000000Z"),
        ("2026-10-25T01:40:00Z", "sun 02:30", "2026-11-01T01:30:00.000000Z"),
        ("2026-10-24T00:40:00Z", "02:30", "2026-10-25T00:30:00.000000Z"),
    ])
    func theNextOfTheMomentsThatAClockShowsIsMeant(now: String, text: String, time: String) throws {
        try Self.inMiddleEurope {
            let next = try Self.typed(at: now, isUTC: false).next(text)
            #expect(next?.rfc3339 == time)
        }
    }

    @Test(arguments: [
        // 02:45 for the first time, and for the second.
        ("2026-10-25T00:45:00Z", "02:44", "2026-10-25T00:44:00.000000Z"),
        ("2026-10-25T01:45:00Z", "02:44", "2026-10-25T01:44:00.000000Z"),
        ("2026-10-25T01:10:00Z", "02:30", "2026-10-25T00:30:00.000000Z"),
        ("2026-10-25T01:10:00Z", "2026-10-25 02:30", "2026-10-25T00:30:00.000000Z"),
        ("2026-10-25T01:10:00Z", "today 02:30", "2026-10-25T00:30:00.000000Z"),
        ("2026-10-25T00:10:00Z", "02:30", "2026-10-24T00:30:00.000000Z"),
        ("2026-10-25T00:10:00Z", "sun 02:30", "2026-10-18T00:30:00.000000Z"),
        ("2026-10-26T00:10:00Z", "02:30", "2026-10-25T01:30:00.000000Z"),
    ])
    func theLastOfTheMomentsThatHavePassedIsMeant(now: String, text: String, time: String) throws {
        try Self.inMiddleEurope {
            let found = try Self.past(text, at: now, isLater: true)
            #expect(found == time)
        }
    }

    @Test(arguments: [
        ("today 10:00", "2026-11-20T10:00:00.000000Z"),
        ("yesterday", "2026-11-19T00:00:00.000000Z"),
        ("yesterday 22:40", "2026-11-19T22:40:00.000000Z"),
        ("mon 9:00", "2026-11-16T09:00:00.000000Z"),
        ("fri 12:00", "2026-11-20T12:00:00.000000Z"),
        ("fri 13:00", "2026-11-13T13:00:00.000000Z"),
        ("13:00", "2026-11-19T13:00:00.000000Z"),
    ])
    func aPastIsNamedAsATimeToComeIs(text: String, time: String) throws {
        #expect(try Self.past(text, at: Self.now, isUTC: true) == time)
    }

    /// Clocks are set without summer time, too: as Moscow's were in 2014.
    @Test func anHourThatComesTwiceForGoodIsBothOfItsMoments() throws {
        try Self.inZone("Europe/Moscow") {
            // Where there are no files of zones the name is UTC, in which that hour comes once.
            let first = "2014-10-25T21:30:00.000000Z"
            guard try Self.past("2014-10-26 01:30", at: Self.now) == first else { return }
            let last = try Self.past("2014-10-26 01:30", at: Self.now, isLater: true)
            #expect(last == "2014-10-25T22:30:00.000000Z")
        }
    }

    private static func inMiddleEurope(_ body: () throws -> Void) throws {
        // The rule itself and not a name, for which there may be no file.
        try self.inZone("CET-1CEST,M3.5.0,M10.5.0/3", body)
    }

    private static func inZone(_ zone: String, _ body: () throws -> Void) throws {
        setenv("TZ", zone, 1)
        tzset()
        defer {
            unsetenv("TZ")
            tzset()
        }
        try body()
    }

    private static func past(
        _ text: String,
        at now: String,
        isLater: Bool = false,
        isUTC: Bool = false
    ) throws -> String? {
        let position = try self.typed(at: now, isUTC: isUTC, isLater: isLater).position(text)
        return if case .time(let time)? = position { time.rfc3339 } else { nil }
    }

    private static func typed(
        at now: String = now,
        isUTC: Bool = true,
        isLater: Bool = false
    ) throws -> TypedPosition {
        TypedPosition(now: try #require(WallTime(reading: now)), isUTC: isUTC, isLater: isLater)
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
    func aDateAndATimeAreWhatACalendarAndAClockShow(text: String, time: String?) throws {
        #expect(try Self.past(text, at: Self.now, isUTC: true) == time)
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
        let next = try Self.typed().next(text)
        #expect(next?.rfc3339 == time)
    }

    @Test(arguments: ["", "soon", "mo 9:00", "25:00", "mon 9", "mon tue", "2026-02-30", "41"])
    func whatIsNoTimeIsNone(text: String) throws {
        let next = try Self.typed().next(text)
        #expect(next == nil)
    }
}

import StateMachineCore
import StateMachineProtocol
import Testing

@testable import statectl

/// A time to come, as it is typed after `--until`.
@Suite struct TypedEndTests {
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

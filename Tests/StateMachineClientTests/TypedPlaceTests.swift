import Glibc
import StateMachineClient
import StateMachineCore
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

    private func time(_ option: String, _ text: String) throws -> String? {
        let place = try TypedPlace.place(option, text, isUTC: false)
        guard case .time(let time)? = place else { return nil }
        return time.rfc3339
    }
}

import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@Suite("A time on the wire") struct WallTimeTests {
    @Test(
        "is RFC 3339 in UTC with microseconds, both ways",
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"),
            (1, "1970-01-01T00:00:00.000001Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (-86_400_000_000, "1969-12-31T00:00:00.000000Z"),
            (1_795_211_703_120_007, "2026-11-20T21:55:03.120007Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (951_868_799_999_999, "2000-02-29T23:59:59.999999Z"),
            (1_709_164_800_000_000, "2024-02-29T00:00:00.000000Z"),
            (-2_203_891_200_000_000, "1900-03-01T00:00:00.000000Z"),
            (-2_203_891_200_000_001, "1900-02-28T23:59:59.999999Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
            (2_147_483_648_000_000, "2038-01-19T03:14:08.000000Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
            (-62_167_219_200_000_000, "0000-01-01T00:00:00.000000Z"),
        ] as [(Int64, String)]
    )
    func isRFC3339(_ microseconds: Int64, _ text: String) {
        #expect(WallTime(microseconds: microseconds).rfc3339 == text)
        #expect(WallTime(rfc3339: text)?.microseconds == microseconds)
    }

    @Test("comes back the same from any year that has four digits") func comesBackTheSame() {
        var generator = SeededGenerator(seed: 3339)
        for _ in 0..<5000 {
            let time = WallTime(
                microseconds: .random(
                    in: -62_167_219_200_000_000...253_402_300_799_999_999,
                    using: &generator
                )
            )
            #expect(WallTime(rfc3339: time.rfc3339) == time)
        }
    }

    @Test("stops at the years that RFC 3339 has") func stopsAtTheFirstAndTheLastYear() {
        for (microseconds, text) in [
            (Int64.max, "9999-12-31T23:59:59.999999Z"),
            (253_402_300_800_000_000, "9999-12-31T23:59:59.999999Z"),
            (-62_167_219_200_000_001, "0000-01-01T00:00:00.000000Z"),
            (Int64.min, "0000-01-01T00:00:00.000000Z"),
        ] {
            #expect(WallTime(microseconds: microseconds).rfc3339 == text)
        }
    }

    @Test(
        "is no other text",
        arguments: [
            "", "2026-11-20", "2026-11-20T21:55:03Z", "2026-11-20T21:55:03.120Z",
            "2026-11-20T21:55:03.120007+", "2026-11-20 21:55:03.120007Z",
            "2026-11-20t21:55:03.120007z", "+026-11-20T21:55:03.120007Z",
            "-001-11-20T21:55:03.120007Z", "2026-11-20T21:55:03.-20007Z",
            "2026-13-20T21:55:03.120007Z", "2026-00-20T21:55:03.120007Z",
            "2026-11-31T21:55:03.120007Z", "2026-11-00T21:55:03.120007Z",
            "2026-02-29T00:00:00.000000Z", "1900-02-29T00:00:00.000000Z",
            "2026-11-20T24:00:00.000000Z", "2026-11-20T21:60:03.120007Z",
            "2026-11-20T21:55:60.120007Z", "2026-11-20T21:55:03.12000 Z",
            "2026-11-20T21:55:03.1200070Z", "２026-11-20T21:55:03.1200Z",
        ]
    )
    func isNoOtherText(_ text: String) {
        #expect(WallTime(rfc3339: text) == nil)
    }
}

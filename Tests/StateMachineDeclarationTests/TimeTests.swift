import StateMachineCore
import StateMachineDeclaration
import Testing

@Suite struct TimeTests {
    @Test(arguments: [
        ("500ms", 500), ("30s", 30_000), ("2min", 120_000), ("1h", 3_600_000), ("7d", 604_800_000),
        ("2w", 1_209_600_000), ("1h30min", 5_400_000), ("1d1ms", 86_400_001), ("10ms", 10),
        ("400d", 34_560_000_000), ("007s", 7000),
    ])
    func timesAreRead(text: String, milliseconds: Int) throws {
        #expect(try TimeText.duration(text) == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        ("30", "30: a time needs a unit; write 30s"),
        ("1h30", "1h30: a time needs a unit; write 30s"),
        ("5m", "5m: \"m\" may be minutes or months; write 5min"),
        ("9ms", "9ms: a time must be from 10ms to 400d"),
        ("401d", "401d: a time must be from 10ms to 400d"),
        ("400d1ms", "400d1ms: a time must be from 10ms to 400d"),
        ("0s", "0s: a time must be from 10ms to 400d"),
        ("9999999999999999999w", "9999999999999999999w: a time must be from 10ms to 400d"),
        ("1s1min", "1s1min: write the largest unit first, and each unit once"),
        ("1s1s", "1s1s: write the largest unit first, and each unit once"),
        ("1y", "1y: there is no unit \"y\"; known: ms, s, min, h, d, w"),
        ("1.5s", "1.5s: write whole numbers, like 1h30min"),
        ("1h 30min", "1h 30min: write it without spaces, like 1h30min"),
        ("", "\"\" is not a time; write it like 30s or 1h30min"),
        ("-1s", "\"-1s\" is not a time; write it like 30s or 1h30min"),
    ])
    func whatIsNoTimeIsRefused(text: String, sentence: String) {
        let objection = #expect(throws: TimeText.Objection.self) { try TimeText.duration(text) }
        #expect(objection?.sentence == sentence)
    }

    @Test func timesAreWrittenAsTheyAreRead() throws {
        for text in ["10ms", "1min20s", "5min20s", "1h30min", "400d", "1d2h3min4s5ms"] {
            #expect(try TimeText.duration(text).timeText == text)
        }
        #expect(Duration.zero.timeText == "0s")
    }
}

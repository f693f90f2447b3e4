import StateMachineProtocol
import TestSupport
import Testing

@Suite("A JSON value is written") struct LineWriterTests {
    @Test(
        "escaped where a reader or a terminal could be misled, and only there",
        arguments: [
            ("\"", #"\""#),
            ("\\", #"\\"#),
            ("/", "/"),
            ("\n\r\t", #"\n\r\t"#),
            ("\0\u{8}\u{C}\u{1B}\u{1F}", #"\u0000\u0008\u000c\u001b\u001f"#),
            ("\u{7F}", #"\u007f"#),
            ("\u{80}\u{85}\u{9B}\u{9F}", #"\u0080\u0085\u009b\u009f"#),
            ("\u{A0}", "\u{A0}"),
            ("\u{2027}\u{2028}\u{2029}\u{202A}", "\u{2027}\\u2028\\u2029\u{202A}"),
            ("aé€😀\u{10FFFF}", "aé€😀\u{10FFFF}"),
            ("e\u{301}", "e\u{301}"),
        ]
    )
    func escapesWhatMisleads(_ string: String, _ expected: String) {
        #expect(Array(JSONValue.string(string).text.utf8) == Array("\"\(expected)\"".utf8))
    }

    @Test("no scalar that must be escaped comes through") func escapesEveryControlCharacter() {
        for value in UInt32(0)...0x2100 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = JSONValue.string(String(scalar)).text
            let isRaw = text.unicodeScalars.dropFirst().dropLast().elementsEqual([scalar])
            let mustBeEscaped =
                value < 0x20 || value == 0x22 || value == 0x5C || (0x7F...0x9F).contains(value)
                || value == 0x2028 || value == 0x2029
            #expect(isRaw != mustBeEscaped, "U+\(String(value, radix: 16))")
        }
    }

    @Test("without white space, members in their order") func writesWithoutWhiteSpace() throws {
        let text = #"{"b":[1,-2.50,null,true,false,{}],"a":{"":"x"},"c":[]}"#
        #expect(try JSONValue(reading: text).text == text)
        #expect(try JSONValue(reading: " { \"b\" : [ 1 , 2 ] } ").text == #"{"b":[1,2]}"#)
    }

    @Test("and read again it is the same, whatever the string", arguments: [1, 2, 3] as [UInt64])
    func comesBackTheSame(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let ranges: [ClosedRange<UInt32>] = [
            0...0x7F, 0...0x9F, 0x20...0x7E, 0x80...0x7FF, 0x2000...0x2030, 0x800...0xFFFF,
            0x10000...0x10FFFF,
        ]
        for _ in 0..<2000 {
            var string = ""
            for _ in 0..<Int.random(in: 0...40, using: &generator) {
                let range = ranges[Int.random(in: 0..<ranges.count, using: &generator)]
                let value = UInt32.random(in: range, using: &generator)
                if let scalar = Unicode.Scalar(value) { string.unicodeScalars.append(scalar) }
            }
            let value = JSONValue.object([JSONMember(string, .array([.string(string)]))])
            let text = value.text
            let back = try JSONValue(reading: text)
            // Compared by scalars: equal strings may be spelled differently.
            let key = try #require(back.members?.first?.key)
            #expect(key.unicodeScalars.elementsEqual(string.unicodeScalars))
            #expect(back.text == text)
            #expect(!text.utf8.contains(UInt8(ascii: "\n")))
        }
    }
}

import StateMachineProtocol
import Testing

@Suite("A text that is not JSON is refused at the byte where it stops being JSON")
struct JSONSyntaxErrorTests {
    @Test(
        arguments: [
            ("", 0, "the line ends where a value was expected"),
            ("   ", 3, "the line ends where a value was expected"),
            ("x", 0, "a value was expected"),
            ("tru", 0, "a value was expected"),
            ("[nul]", 1, "a value was expected"),
            ("True", 0, "a value was expected"),
            ("'a'", 0, "a value was expected"),
            ("NaN", 0, "a value was expected"),
            ("-Infinity", 1, "a digit was expected"),
            ("\u{B}1", 0, "a value was expected"),
            ("\u{FEFF}1", 0, "a value was expected"),
            ("1 2", 2, "unexpected text after the value"),
            ("{}}", 2, "unexpected text after the value"),
            ("01", 1, "unexpected text after the value"),
            ("1.", 2, "a digit was expected"),
            ("1.e3", 2, "a digit was expected"),
            (".5", 0, "a value was expected"),
            ("+5", 0, "a value was expected"),
            ("-", 1, "a digit was expected"),
            ("1e", 2, "a digit was expected"),
            ("1e+", 3, "a digit was expected"),
            ("0x10", 1, "unexpected text after the value"),
            ("[1,]", 3, "a value was expected"),
            ("[1 2]", 3, "',' or ']' was expected"),
            ("[1", 2, "',' or ']' was expected"),
            ("[", 1, "the line ends where a value was expected"),
            ("{a:1}", 1, "a key was expected"),
            ("{1:1}", 1, "a key was expected"),
            ("{\"a\":1,}", 7, "a key was expected"),
            ("{", 1, "a key was expected"),
            ("{\"a\" 1}", 5, "':' was expected"),
            ("{\"a\"", 4, "':' was expected"),
            ("{\"a\":}", 5, "a value was expected"),
            ("{\"a\":1 \"b\":2}", 7, "',' or '}' was expected"),
            ("// no\n1", 0, "a value was expected"),
        ]
    )
    func inItsGrammar(_ text: String, _ offset: Int, _ message: String) {
        expectError(Array(text.utf8), offset, message)
    }

    @Test(
        arguments: [
            (#"""#, 1, "the line ends inside a string"),
            (#""abc"#, 4, "the line ends inside a string"),
            (#""a\"#, 3, "the line ends inside a string"),
            (#""a\n"#, 4, "the line ends inside a string"),
            (#""a\x""#, 3, "unknown escape"),
            (#""\u12""#, 5, "four hexadecimal digits were expected"),
            (#""\u12G4""#, 5, "four hexadecimal digits were expected"),
            (#""\u"#, 3, "four hexadecimal digits were expected"),
            (#""\U0041""#, 2, "unknown escape"),
            ("\"a\tb\"", 2, "a control character in a string must be escaped"),
            ("\"\\n\u{1F}\"", 3, "a control character in a string must be escaped"),
            ("\"a\0\"", 2, "a control character in a string must be escaped"),
            ("{\"a\n\":1}", 3, "a control character in a string must be escaped"),
            (#""ab\ud800""#, 3, "an unpaired surrogate"),
            (#""\ud800A""#, 1, "an unpaired surrogate"),
            (#""\ud800\n""#, 1, "an unpaired surrogate"),
            (#""\ud800\u0041""#, 1, "an unpaired surrogate"),
            (#""\ud800\ud800""#, 1, "an unpaired surrogate"),
            (#""x\udc00""#, 2, "an unpaired surrogate"),
            (#""\ud800\u00""#, 11, "four hexadecimal digits were expected"),
        ]
    )
    func inItsStrings(_ text: String, _ offset: Int, _ message: String) {
        expectError(Array(text.utf8), offset, message)
    }

    @Test(
        arguments: [
            ("a lone continuation byte", [0x80], 0),
            ("a byte that UTF-8 never has", [0x61, 0xFF], 1),
            ("a sequence that is cut", [0x61, 0x62, 0xE2, 0x82], 2),
            ("an overlong slash", [0xC0, 0xAF], 0),
            ("an encoded surrogate", [0xC3, 0xA9, 0xED, 0xA0, 0x80], 2),
            ("a scalar beyond the last", [0xF4, 0x90, 0x80, 0x80], 0),
            ("after an escape", [0x5C, 0x6E, 0x61, 0xFE], 3),
        ] as [(String, [UInt8], Int)]
    )
    func inItsEncoding(_ name: String, _ bytes: [UInt8], _ offset: Int) {
        let quote = UInt8(ascii: "\"")
        expectError([quote] + bytes + [quote], 1 + offset, "not UTF-8")
        // Whether the string is closed does not change which error comes first.
        expectError([quote] + bytes, 1 + offset, "not UTF-8")
        expectError(Array("{\"a\":\"".utf8) + bytes + Array("\"}".utf8), 6 + offset, "not UTF-8")
    }

    @Test("outside strings a byte beyond ASCII is no value") func outsideItsStrings() {
        expectError([0xFF], 0, "a value was expected")
        expectError(Array("[1,é]".utf8), 3, "a value was expected")
    }

    private func expectError(
        _ bytes: [UInt8],
        _ offset: Int,
        _ message: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: JSONSyntaxError.self, sourceLocation: sourceLocation) {
            var parser = JSONParser(bytes)
            _ = try parser.parse()
        }
        #expect(error?.offset == offset, sourceLocation: sourceLocation)
        #expect(error?.message == message, sourceLocation: sourceLocation)
    }
}

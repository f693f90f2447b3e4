import StateMachineProtocol
import Testing

@Suite("A JSON text is read") struct JSONParserTests {
    @Test(
        "every kind of value",
        arguments: [
            ("null", .null),
            ("true", .bool(true)),
            ("false", .bool(false)),
            ("0", .number("0")),
            ("\"\"", .string("")),
            ("[]", .array([])),
            ("{}", .object([])),
            ("[ ]", .array([])),
            ("{ }", .object([])),
            (" \t\r\n[ 1 , \"a\" ]\n", .array([.number("1"), .string("a")])),
            ("{\"a\" : {\"b\":[]}}", .object([.init("a", .object([.init("b", .array([]))]))])),
            ("{\"\":1}", .object([.init("", .number("1"))])),
        ] as [(String, JSONValue)]
    )
    func readsEveryKindOfValue(_ text: String, _ value: JSONValue) throws {
        #expect(try JSONValue(reading: text) == value)
    }

    @Test(
        "numbers as they are written",
        arguments: [
            "0", "-0", "7", "-12", "1.0", "1.50", "0.001", "1e3", "1E+3", "1.5e-07", "10E0",
            "18446744073709551616", "-9223372036854775809", "9007199254740993",
            "3.141592653589793238462643383279", "1e999999999999999999999",
        ]
    )
    func keepsNumbersAsTheyAreWritten(_ text: String) throws {
        #expect(try JSONValue(reading: text) == .number(text))
        #expect(try JSONValue(reading: text).text == text)
    }

    @Test(
        "every escape",
        arguments: [
            (#""\"\\\/""#, "\"\\/"),
            (#""\b\f\n\r\t""#, "\u{8}\u{C}\n\r\t"),
            (#""A\u00e9\u00E9\u2028""#, "Aéé\u{2028}"),
            (#""\u0000x""#, "\0x"),
            (#""\ud83d\ude00!""#, "😀!"),
            (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
            (#""a😀\n\u007f""#, "a😀\n\u{7F}"),
            ("\"\u{7F}\u{85}\u{2028}\"", "\u{7F}\u{85}\u{2028}"),
        ]
    )
    func readsEveryEscape(_ text: String, _ string: String) throws {
        #expect(try JSONValue(reading: text) == .string(string))
    }

    @Test("members in the order in which they are written") func keepsTheOrderOfMembers() throws {
        let members = try #require(try JSONValue(reading: #"{"z":1,"a":2,"m":3}"#).members)
        #expect(members.map(\.key) == ["z", "a", "m"])
    }

    @Test("arrays and objects 64 deep, and no deeper", arguments: ["[", "{\"a\":"])
    func nestsToTheLimitAndNoDeeper(_ opening: String) throws {
        let closing = opening == "[" ? "]" : "}"
        func nested(_ depth: Int) -> String {
            String(repeating: opening, count: depth - 1)
                + (opening == "[" ? "[]" : "{}")
                + String(repeating: closing, count: depth - 1)
        }
        _ = try JSONValue(reading: nested(64))
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(reading: nested(65)) }
        #expect(error?.offset == opening.utf8.count * 64)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(reading: nested(20_000)) }
    }

    @Test(
        "a key twice in one object is remembered, however deep",
        arguments: [
            (#"{"a":1,"a":1}"#, "a"),
            (#"{"a":{"b":1,"c":2,"b":3}}"#, "b"),
            (#"[[{"x":[{"y":0,"y":0}]}]]"#, "y"),
            (#"{"a":1,"\u0061":2}"#, "a"),
            (#"{"a":1,"b":{"a":1}}"#, nil),
            (#"[{"a":1},{"a":1}]"#, nil),
            (#"{"a":1,"A":1}"#, nil),
        ] as [(String, String?)]
    )
    func remembersADoubledKey(_ text: String, _ key: String?) throws {
        var parser = JSONParser(Array(text.utf8))
        _ = try parser.parse()
        #expect(parser.doubledKey == key)
    }

    @Test("a doubled key is found among many", arguments: [2, 15, 16, 17, 18, 40, 4000])
    func findsADoubledKeyAmongMany(_ count: Int) throws {
        let keys = (0..<count).map { "\"k\($0)\":0" }
        var distinct = JSONParser(Array("{\(keys.joined(separator: ","))}".utf8))
        _ = try distinct.parse()
        #expect(distinct.doubledKey == nil)
        for repeated in [0, count / 2, count - 1] {
            let text = "{\((keys + [keys[repeated]]).joined(separator: ","))}"
            var parser = JSONParser(Array(text.utf8))
            _ = try parser.parse()
            #expect(parser.doubledKey == "k\(repeated)")
        }
    }

    @Test("what people type is JSON or nothing") func takesTypedTextForJSONOrNothing() {
        #expect(JSONValue(parsing: "true") == .bool(true))
        #expect(JSONValue(parsing: "-3") == .number("-3"))
        #expect(JSONValue(parsing: "\"true\"") == .string("true"))
        #expect(JSONValue(parsing: "active") == nil)
        #expect(JSONValue(parsing: "") == nil)
        #expect(JSONValue(parsing: "1 2") == nil)
        #expect(JSONValue(parsing: #"{"a":1,"a":1}"#) == nil)
    }
}

import StateMachineProtocol
import Testing

@Suite("A JSON value is contained in another") struct JSONMatchingTests {
    @Test(
        "if it asks for nothing that the other has not",
        arguments: [
            ("{}", #"{"a":1}"#),
            (#"{"a":1}"#, #"{"b":2,"a":1}"#),
            (#"{"a":{"b":1}}"#, #"{"a":{"c":2,"b":1}}"#),
            (#"{"a":{}}"#, #"{"a":{"b":1}}"#),
            ("[1,2]", "[1,2]"),
            (#"[{"a":1}]"#, #"[{"a":1,"b":2}]"#),
            ("null", "null"),
            (#""x""#, #""x""#),
            ("true", "true"),
        ]
    )
    func containsASubset(_ part: String, _ whole: String) throws {
        #expect(try JSONValue(reading: part).isContained(in: JSONValue(reading: whole)))
    }

    @Test(
        "but not if it asks for more or for something else",
        arguments: [
            (#"{"a":1}"#, "{}"),
            (#"{"a":1}"#, #"{"a":2}"#),
            (#"{"a":{"b":1,"c":2}}"#, #"{"a":{"b":1}}"#),
            (#"{"a":null}"#, "{}"),
            (#"{"a":{}}"#, #"{"a":[]}"#),
            ("[1]", "[1,2]"),
            ("[2,1]", "[1,2]"),
            ("1", #""1""#),
            ("true", #""true""#),
            ("true", "1"),
            ("null", "false"),
            (#""a""#, #""A""#),
        ]
    )
    func doesNotContainMore(_ part: String, _ whole: String) throws {
        #expect(try !JSONValue(reading: part).isContained(in: JSONValue(reading: whole)))
    }

    @Test(
        "numbers by their value, however they are written",
        arguments: [
            ("1", "1.0"), ("1", "1.000"), ("10", "1e1"), ("100", "1.0E+2"), ("0.5", "5e-1"),
            ("0", "-0"), ("0", "0.00"), ("0", "0e5"), ("-1.50", "-1.5"), ("1200", "12e2"),
            ("0.0012", "1.2e-3"), ("12345678901234567890123", "1.2345678901234567890123e22"),
            ("1e99999999999", "1e99999999999"),
        ]
    )
    func comparesNumbersByValue(_ left: String, _ right: String) {
        #expect(JSONValue.number(left).isContained(in: .number(right)))
        #expect(JSONValue.number(right).isContained(in: .number(left)))
    }

    @Test(
        "and numbers that differ are never the same, however close",
        arguments: [
            ("1", "-1"), ("1", "10"), ("1", "0.1"), ("0.1", "0.01"), ("1", "1.0000001"), ("0", "1"),
            ("18446744073709551615", "18446744073709551614"),
            ("9007199254740993", "9007199254740992.0"),
            ("1e400", "1e401"), ("1e-400", "0"), ("1e99999999999", "1e99999999998"),
            ("101", "11"),
        ]
    )
    func tellsCloseNumbersApart(_ left: String, _ right: String) {
        #expect(!JSONValue.number(left).isContained(in: .number(right)))
        #expect(!JSONValue.number(right).isContained(in: .number(left)))
    }
}

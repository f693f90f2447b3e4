import DaemonScripts
import StateMachineClient
import Testing

@testable import statectl

@Suite struct LineFormatTests {
    private static let line =
        #"{"type":"change","seq":42,"state":"playing","data":{"phase":"on","seq":7,"sub":{"x":1}},"#
        + #""from":{"state":"menu","data":{}},"at":"2026-11-20T21:55:04.000999Z","#
        + #""by":{"uid":0,"pid":4711},"cause":"a\nb","cursor":"e:42"}"#

    private func shown(_ format: String, _ line: String = line) throws -> String {
        try LineFormat(format).text(try Line.of(line), event: "change", .fixed(.coloured))
    }

    @Test(arguments: [
        ("{state} {phase}", "playing on"), ("#{seq}", "#42"), ("{at}", "21:55:04.000"),
        ("{age}", "11 s ago"), ("{by}", "root (4711)"), ("{by.uid}", "0"), ("{from}", "menu"),
        ("{from.state}", "menu"), ("{sub.x} {data.seq} {sub}", #"1 7 {"x":1}"#),
        ("{event}:{cursor}", "change:e:42"), ("{stayCursor} {stayCursor:json}", #"e:42 "e:42""#),
        ("{nosuch}[{sub.y}]", "[]"),
        (#"{{{state}}}\t\n\\"#, "{playing}\t\n\\"),
        // Nothing in a value acts on the terminal.
        ("{cause}", #"a\u{a}b"#),
    ])
    func namesStandForWhatALineSays(format: String, text: String) throws {
        #expect(try self.shown(format) == text)
    }

    @Test func theCursorOfAStayIsThatOfTheChangeThatBeganIt() throws {
        let updated = Self.line.replacing(#""cursor""#, with: #""stay":40,"cursor""#)
        #expect(try self.shown("{stayCursor}", updated) == "e:40")
    }

    @Test func whatALineHasNothingForIsNothing() throws {
        #expect(try self.shown("<{state}{phase}{seq}{at}{by}>", #"{"type":"gone"}"#) == "<>")
    }

    @Test(arguments: ["{", "{state", "{}", "}", "a } b"])
    func aBraceWithoutItsOtherIsAnError(format: String) {
        #expect(throws: (any Error).self) { try LineFormat(format) }
    }

    @Test func aNameMayBeShownAsJSON() throws {
        let line = try Line.of(
            #"{"type":"state","seq":1,"state":"a","data":{"t":"x\"\u202e","n":[1]},"by":{"uid":0,"pid":1}}"#
        )
        let format = try LineFormat(
            "{state:json} {t:json} {n:json} {by.uid:json} {cause:json} {seq}"
        )
        #expect(format.text(line, event: "state", .fixed()) == #""a" "x\"\u202e" [1] 0 null 1"#)
        #expect(format.fields == ["t", "n"])
    }
}

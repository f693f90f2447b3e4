import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineClient

/// A past without its values, as it is read from a line.
struct OutlineTests {
    @Test func anOutlineIsReadAsItWasWritten() throws {
        let at = try #require(WallTime(rfc3339: "2026-11-20T21:55:45.120007Z"))
        var outline = TransitionOutline(from: 7)
        for (state, microseconds) in [("a \"b\"", 0), ("c", 250), ("a \"b\"", 245)] {
            let at = WallTime(microseconds: at.microseconds + Int64(microseconds))
            outline.append(state, at: at, isSameStay: microseconds == 0)
        }
        let epoch = try #require(Epoch("7f3a9c"))
        let bytes = ServerLine.outline(id: .integer(12), outline, in: epoch)
        #expect(try #require(Line(bytes.dropLast()).flatMap { TransitionOutline($0) }) == outline)
        let wrong =
            #"{"type":"outline","seq":1,"at":"2026-11-20T21:55:45.120007Z","states":["a"],"changes":"#
        // The last two are no times: their sum is beyond any clock, or any integer.
        for changes in [
            "[1,0]", "[0]", "[0,true]", "{}", "[0,9000000000000000000]",
            "[0,9223372036854775807,0,9223372036854775807]",
        ] {
            let line = try #require(Line(Array("\(wrong)\(changes)}".utf8)))
            #expect(TransitionOutline(line) == nil)
        }
    }
}

import Testing

@testable import StateMachineClient

@Suite struct LineFramerTests {
    private func lines(_ chunks: [String]) throws -> [String] {
        var framer = LineFramer()
        return try chunks.flatMap { try framer.append(Array($0.utf8)) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func aLineMayComeInAnyNumberOfPieces() throws {
        let lines = try self.lines(["{\"a\"", ":1", "}", "\n{}\n{", "}\n"])
        #expect(lines == ["{\"a\":1}", "{}", "{}"])
    }

    @Test func everyCutOfTheStreamGivesTheSameLines() throws {
        let whole = ["{\"type\":\"state\"}", "", "{\"cause\":\"å\"}"].map { Array($0.utf8) }
        let bytes = whole.flatMap { $0 + [UInt8(ascii: "\n")] }
        for cut in bytes.indices {
            var framer = LineFramer()
            let lines = try framer.append(bytes[..<cut]) + framer.append(bytes[cut...])
            #expect(lines == whole)
        }
    }

    @Test func whatFollowsTheLastNewlineIsNotALine() throws {
        #expect(try self.lines(["{}\n{\"type\":"]) == ["{}"])
    }

    @Test func aLineOfTheGreatestLengthPasses() throws {
        let longest = String(repeating: "x", count: RequestLimits.serverLineBytes)
        #expect(try self.lines([longest, "\n"]) == [longest])
    }

    @Test func aLongerLineIsRefusedBeforeItsEndIsKnown() {
        let tooLong = String(repeating: "x", count: RequestLimits.serverLineBytes + 1)
        #expect(throws: LineFramer.LineTooLong.self) { try self.lines([tooLong]) }
    }
}

import Glibc
import Logging
import TestSupport
import Testing

@testable import ServiceLog

/// The log as its readers see it, and without a reader.
@Suite(.bounded) struct LogOutputTests {
    @Test func nobodyWaitsForAReaderAndWhatIsLeftOutIsSaid() {
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let output = LogOutput(ends[1])
        // More than a pipe holds and more than may wait; nobody reads before all have been written.
        let count = 20_000
        for number in 1...count { output.write(sentence: "line \(number)") }

        var (written, leftOut) = (0, 0)
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while written + leftOut < count {
            let length = read(ends[0], &buffer, buffer.count)
            guard length > 0 else { break }
            rest += buffer[..<length]
            var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            rest = Array(lines.removeLast())
            for line in lines {
                let words = String(decoding: line, as: UTF8.self).split(separator: " ")
                // "line N", or "statemachine: N lines of the log were lost, …".
                if words[0] == "line" {
                    written += 1
                    #expect(words[1] == "\(written + leftOut)")
                } else {
                    leftOut += Int(words[1]) ?? 0
                }
            }
        }
        #expect(written + leftOut == count)
        #expect(leftOut > 0)
        output.flush()
        close(ends[1])
    }

    @Test func nothingThatTurnsALineAroundIsLogged() {
        let fields = JournalLogHandler.fields(
            .info,
            "a\u{202E}b",
            ["path": "x\u{1B}[2J\u{2066}y", "state": "å"],
            label: "test"
        )
        #expect(fields[0].value == #"a\u{202e}b path=x\u{1b}[2J\u{2066}y state=å"#)
        #expect(fields.last?.value == "å")
    }
}

import Foundation
import FoundationXML
import StateMachineSQLite
import Subprocess
import TestSupport
import Testing

/// statectl timeline, against a fixed past.
@Suite(.bounded) struct TimelineTests {
    private static let whole = ["--since", "2026-03-01 11:50", "--until", "2026-03-01 15:00"]

    private func timeline(_ daemon: DaemonProcess, _ words: [String]) async throws -> String {
        let run = try await daemon.statectl(["--utc", "timeline"] + words)
        #expect(run.status == .exited(0) && run.errors.isEmpty, "\(run.errors)")
        return run.output
    }

    @Test func aPastIsShownAsText() async throws {
        try await FixedPast.run { daemon in
            try expectGolden(try await self.timeline(daemon, Self.whole), "timeline.txt")
            // From one change, with which the span begins, up to another.
            try expectGolden(
                try await self.timeline(daemon, ["--since", "2", "--until", "7"]),
                "timeline-part.txt"
            )
        }
    }

    @Test(arguments: [["timeline"], ["timeline", "--since", "1h"]])
    func theStateToBeginWithHasAStayOfItsOwn(words: [String]) async throws {
        try await DaemonProcess.run { daemon in
            _ = try await daemon.ask(\.control, "set authentication phase=active")
            let run = try await daemon.statectl(["--json"] + words)
            let states = try JSONLine(run.output).items("states") ?? []
            #expect(states.map { $0.string("state") } == ["ready", "authentication"])
            #expect(states.map { $0.int("entered") } == [1, 1])
        }
    }

    @Test func staysAreShownWithTheirLengths() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            for phase in ["idle", "active"] {
                _ = try await client.ask("set authentication phase=\(phase)")
            }
            let run = try await daemon.statectl(["--json", "history", "--stays"])
            let lines = try run.output.split(separator: "\n").map { try JSONLine(String($0)) }
            #expect(lines.map(\.type) == ["change", "change", "reply"])
            #expect(lines[0].has("forMs") && !lines[0].has("until"))
            #expect(lines[1].has("forMs") && lines[1].string("until") == lines[0].string("at"))
            let text = try await daemon.statectl(
                ["history", "--stays", "authentication:phase=active"]
            )
            #expect(text.output.contains("so far"), "\(text)")
        }
    }

    @Test func aPastIsDrawn() async throws {
        try await FixedPast.run { daemon in
            let picture = try await self.timeline(daemon, Self.whole + ["--svg", "-"])
            try expectGolden(picture, "timeline.svg")
            // Hostile characters appear as text.
            #expect(!picture.contains("<script") && !picture.contains("\u{1B}"))
            #expect(picture.contains("&lt;script&gt;") && picture.contains("\\u{202e}"))
            #expect(XMLParser(data: Data(picture.utf8)).parse())
        }
    }

    @Test(arguments: ["text", "mermaid", "dot"]) func waysAreCounted(format: String) async throws {
        try await FixedPast.run { daemon in
            let client = try daemon.connect(\.control)
            _ = try await client.ask(#"{"op":"hold","before":"bright","why":"x"}"#)
            _ = try await client.ask(#"{"op":"guard","before":["!dim","!bright"]}"#)
            let run = try await daemon.statectl(["graph", "--counts", "--format", format])
            #expect(run.status == .exited(0) && run.errors.isEmpty, "\(run.errors)")
            try expectGolden(run.output, "graph.\(format)")
            // For the last hour there is nothing but the present state.
            let recent = try await daemon.statectl(
                ["graph", "--counts", "--since", "1h", "--format", format]
            )
            #expect(recent.output.contains("never") && !recent.output.contains("×"))
            let file = try await daemon.statectl(["graph", "--counts", "lamp.yaml"])
            #expect(file.status == .exited(2))
        }
    }

    @Test func theFiguresAreThoseOfTheStays() async throws {
        try await FixedPast.run { daemon in
            let run = try await daemon.statectl(
                ["timeline", "--json", "--since", "2026-03-01T12:20:00Z"]
                    + ["--until", "2026-03-01T14:00:00Z"]
            )
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
            )
            let states = try #require(object["states"] as? [[String: Any]])
            let rows = states.map { state in
                [
                    "\(state["state"] ?? "")", "\(state["ms"] ?? "")", "\(state["entered"] ?? "")",
                    "\(state["medianMs"] ?? "")", "\(state["longestMs"] ?? "")",
                ]
            }
            // The first stay began before the span, and is 30 minutes long; an update is not a
            // stay.
            #expect(
                rows == [
                    ["dim", "600000", "0", "1800000", "1800000"],
                    ["dark", "1800750", "2", "750", "1800000"],
                    ["bright", "3599250", "2", "250", "3599000"],
                ]
            )
            #expect(object["changes"] as? Int == 4)
        }
    }

    /// A gap in the history on the disk is skipped, and reported.
    @Test func aHoleIsPassedOver() async throws {
        try await withTemporaryDirectory { directory in
            let state = "\(directory)/state"
            _ = try await DaemonProcess.run(
                in: directory,
                arguments: ["--state-directory", state]
            ) { daemon in
                let client = try daemon.connect(\.control)
                for number in 1...60 {
                    _ = try await client.ask("set ready \(number % 2 == 1)")
                }
                try Database("\(state)/statemachine.sqlite", timeout: .seconds(10))
                    .execute("DELETE FROM change WHERE seq BETWEEN 20 AND 29")
                try client.send(#"{"op":"history","outline":true,"after":9,"before":41}"#)
                let (one, other) = (try await client.next(), try await client.next())
                #expect(one.seq == 10 && one.integers("changes")?.count == 20)
                #expect(other.seq == 30 && other.integers("changes")?.count == 22)
                let reply = try await client.next()
                #expect(reply.int("count") == 21 && reply.string("resync") == "evicted")
                let run = try await daemon.statectl("timeline", "--since", "9")
                #expect(run.status == .exited(0))
                #expect(run.errors.hasPrefix("statectl: some changes are missing"))
                #expect(run.output.contains("41 changes"))
            }
        }
    }

    /// An outline has every change that the lines have, from the ring and from the database.
    @Test(arguments: [true, false]) func anOutlineHasEveryChange(isDurable: Bool) async throws {
        try await DaemonProcess.run(isDurable: isDurable) { daemon in
            let client = try daemon.connect(\.control)
            for number in 1...600 {
                _ = try await client.ask("set ready \(number % 2 == 1)")
            }
            let epoch = try await daemon.epoch()
            try client.send(#"{"op":"history","id":5,"outline":true,"after":99,"limit":400}"#)
            var (next, count) = (100, 0)
            var line = try await client.next()
            while line.type == "outline" {
                #expect(line.seq == next && line.int("id") == 5)
                let changes = try #require(line.integers("changes"))
                #expect(line.strings("states") == ["ready"])
                #expect(
                    stride(from: 0, to: changes.count, by: 2).allSatisfy { changes[$0] == 0 }
                )
                next += changes.count / 2
                count += changes.count / 2
                #expect(line.string("cursor") == "\(epoch):\(next - 1)")
                line = try await client.next()
            }
            #expect(count == 400 && line.int("count") == 400 && line.bool("more") == true)
            for key in [#""only":"ready""#, #""order":"newest""#, #""by":0"#, #""cause":"x""#] {
                let reply = try await client.ask("{\"op\":\"history\",\"outline\":true,\(key)}")
                #expect(reply.string("error") == "bad-request")
            }
            let none = try await client.ask(#"{"op":"history","outline":true,"after":600}"#)
            #expect(none.int("count") == 0 && none.bool("more") == false)
        }
    }
}

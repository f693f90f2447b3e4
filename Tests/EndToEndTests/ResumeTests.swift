import TestSupport
import Testing

/// Where a returning reader resumes.
@Suite(.bounded)
struct ResumeTests {
    @Test
    func everyCursorGetsItsChangesOrTheReasonWhyNot() async throws {
        try await DaemonProcess.run("--ring-changes", "8") { daemon in
            let setter = try daemon.connect(\.control)
            try await setter.pipeline(1...20) { "set ready value=\($0 % 2 == 1)" }
            let epoch = try await daemon.epoch()
            let other = (epoch.first == "0" ? "1" : "0") + epoch.dropFirst()
            let cases: [(cursor: String, resync: String, missed: Int?)] = [
                ("\(epoch):11", "evicted", 9),
                ("\(epoch):0", "evicted", 20),
                ("\(epoch):21", "unknown", nil),
                ("\(epoch):99999999999999999999999", "unknown", nil),
                ("\(epoch):x2", "unknown", nil),
                ("\(epoch):", "unknown", nil),
                ("", "unknown", nil),
                ("😀", "unknown", nil),
                ("\(other):12", "restarted", nil),
            ]
            let client = try daemon.connect(\.control)
            for (number, (cursor, resync, missed)) in cases.enumerated() {
                let line = try await client.ask(
                    #"{"op":"watch","id":\#(number),"since":"\#(cursor)"}"#
                )
                #expect(line.type == "state", "\(cursor)")
                #expect(line.string("resync") == resync, "\(cursor)")
                #expect(line.int("missed") == missed, "\(cursor)")
                #expect(line.seq == 20)
                #expect(try await client.ask(#"{"op":"unwatch","id":\#(number)}"#).ok == true)
            }
        }
    }

    @Test
    func whatIsKeptIsReplayedThenLive() async throws {
        try await DaemonProcess.run("--ring-changes", "8") { daemon in
            let setter = try daemon.connect(\.control)
            try await setter.pipeline(1...20) { "set ready value=\($0 % 2 == 1)" }
            let epoch = try await daemon.epoch()
            for (cursor, only, expected) in [
                (12, "", Array(13...20)),
                (19, "", [20]),
                (20, "", []),
                (12, #","only":["ready:value=true"]"#, [13, 15, 17, 19]),
                (12, #","only":["authentication"]"#, []),
            ] {
                let client = try daemon.connect(\.control)
                try client.send(#"{"op":"watch","id":1,"since":"\#(epoch):\#(cursor)"\#(only)}"#)
                for seq in expected {
                    let line = try await client.next()
                    #expect(line.type == "change")
                    #expect(line.seq == seq)
                    #expect(line.bool("replay") == true)
                }
                let live = try await client.next()
                #expect(live.type == "live")
                #expect(live.seq == 20)
                let isSelected = only.isEmpty
                #expect(
                    live.keys == ["type", "id", "seq", "state", "data", "cursor"]
                        + (isSelected ? [] : ["selected"])
                )
                #expect(live.bool("selected") == (isSelected ? nil : false))
            }
        }
    }

    @Test
    func aReplayForLatestMayCollapseButCounts() async throws {
        try await DaemonProcess.run { daemon in
            let setter = try daemon.connect(\.control)
            try await setter.pipeline(1...10) { "set ready value=\($0 % 2 == 1)" }
            let epoch = try await daemon.epoch()
            let client = try daemon.connect(\.control)
            try client.send(#"{"op":"watch","mode":"latest","since":"\#(epoch):2"}"#)
            var accounted = 2
            var line = try await client.next()
            while line.type == "change" {
                accounted += 1 + (line.int("skipped") ?? 0)
                #expect(line.seq == accounted)
                #expect(line.bool("replay") == true)
                line = try await client.next()
            }
            #expect(line.type == "live")
            #expect(accounted == 10)
        }
    }

    @Test
    func theSameSeqHasTheSameBytesReplayedAsLive() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.events)
            _ = try await watcher.next()
            let setter = try daemon.connect(\.control)
            try await setter.pipeline(1...50) {
                #"{"op":"set","state":"authentication","data":{"phase":"active"},"#
                    + #""reenter":true,"cause":"é\#($0)"}"#
            }
            let epoch = try await daemon.epoch()
            let late = try daemon.connect(\.control)
            try late.send(#"{"op":"watch","since":"\#(epoch):0"}"#)
            for _ in 1...50 {
                let live = try #require(try await watcher.nextLine())
                #expect(try await late.nextLine() == live.dropLast() + #","replay":true}"#)
            }
        }
    }
}

extension DaemonProcess {
    /// The epoch of its cursors; clients treat cursors as opaque, tests do not.
    func epoch() async throws -> String {
        let cursor = try await self.ask(\.control, "get").string("cursor") ?? ""
        return String(cursor.prefix { $0 != ":" })
    }
}

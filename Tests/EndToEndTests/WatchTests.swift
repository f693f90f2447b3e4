import TestSupport
import Testing

/// What a watch may ask for instead of every line at once.
@Suite(.bounded)
struct WatchTests {
    @Test
    func latestCountsWhatItSkipped() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.control)
            let first = try await watcher.ask(#"{"op":"watch","id":2,"mode":"latest"}"#)
            #expect(first.type == "state")
            let changes = 20
            let setter = try daemon.connect(\.control)
            try await setter.pipeline(1...changes) { "set ready value=\($0 % 2 == 1)" }
            var last = 0
            var skipped = 0
            while last < changes {
                let line = try await watcher.next()
                #expect(line.type == "change")
                #expect(line.int("id") == 2)
                #expect(line.int("skipped") != 0)
                let seq = try #require(line.seq)
                #expect(seq == last + 1 + (line.int("skipped") ?? 0))
                #expect(line.item("data")?.bool("value") == (seq % 2 == 1))
                #expect(line.item("from")?.item("data")?.bool("value") == (seq % 2 == 0))
                skipped += line.int("skipped") ?? 0
                last = seq
            }
            #expect(last == changes)
            #expect(skipped > 0)
        }
    }

    @Test
    func latestCountsOnlyWhatItWouldHaveShown() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.control)
            _ = try await watcher.ask(#"{"op":"watch","mode":"latest","only":["authentication"]}"#)
            let setter = try daemon.connect(\.control)
            try await setter.pipeline(1...20) {
                $0 % 2 == 0 ? "set ready value=true" : "set authentication phase=active"
            }
            var shown = 0
            while shown < 10 {
                let line = try await watcher.next()
                #expect(line.state == "authentication")
                shown += 1 + (line.int("skipped") ?? 0)
                #expect(line.seq == shown * 2 - 1)
            }
            #expect(shown == 10)
        }
    }

    @Test
    func aPacedWatchGetsTheFirstLineAtOnceAndEveryHeldOne() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.control)
            _ = try await watcher.ask(#"{"op":"watch","id":"slow","everyMs":300}"#)
            let never = #"{"op":"watch","id":"never","mode":"latest","everyMs":9007199254740991}"#
            _ = try await watcher.ask(never)
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask("set ready value=true").seq == 1)
            let first = [try await watcher.next(), try await watcher.next()]
            #expect(first.map(\.seq) == [1, 1])
            #expect(Set(first.map { $0.string("id") }) == ["slow", "never"])
            try await setter.pipeline(2...9) { "set ready value=\($0 % 2 == 1)" }
            // A reply does not wait for a paced watch; on a busy computer it may come after the
            // watch's lines.
            try watcher.send(#"{"op":"get","id":"now"}"#)
            var lines: [JSONLine] = []
            while lines.count < 9 { lines.append(try await watcher.next()) }
            let held = lines.filter { $0.string("id") == "slow" }
            #expect(held.map(\.seq) == Array(2...9))
            #expect(lines.filter { $0.string("id") == "now" }.map(\.seq) == [9])
        }
    }

    @Test
    func aPacedLatestWatchEndsWithTheLastState() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.control)
            _ = try await watcher.ask(#"{"op":"watch","mode":"latest","everyMs":50}"#)
            let setter = try daemon.connect(\.control)
            let changes = 400
            try await setter.pipeline(1...changes) { "set ready value=\($0 % 2 == 1)" }
            var accounted = 0
            while accounted < changes {
                let line = try await watcher.next()
                accounted += 1 + (line.int("skipped") ?? 0)
                #expect(line.seq == accounted)
            }
            #expect(try await watcher.ask("ping").seq == changes)
        }
    }

    @Test
    func aBeatShowsTheCurrentStateWhenNothingElseCame() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.control)
            let refused = try await watcher.ask(#"{"op":"watch","id":7,"beatMs":99}"#)
            #expect(refused.error == "bad-request")
            #expect(refused.string("message")?.hasPrefix("beatMs must be at least 100;") == true)
            let first = try await watcher.ask(
                #"{"op":"watch","id":7,"only":["authentication"],"beatMs":100}"#
            )
            #expect(first.type == "state")
            let beat = try await watcher.next()
            #expect(beat.type == "beat")
            #expect(beat.keys == ["type", "id", "seq", "state", "data", "cursor", "selected"])
            #expect(beat.bool("selected") == false)
            _ = try await daemon.ask(\.control, "set ready value=true")
            var line = try await watcher.next()
            while line.seq == 0 { line = try await watcher.next() }
            #expect(line.type == "beat")
            #expect(line.item("data")?.bool("value") == true)
            try watcher.send(#"{"op":"unwatch","id":7}"#)
            line = try await watcher.next()
            while line.type == "beat" { line = try await watcher.next() }
            #expect(line.type == "reply")
            #expect(
                try await watcher.ask(#"{"op":"wait","until":["authentication"],"timeoutMs":90}"#)
                    .error == "timeout"
            )
        }
    }

    @Test
    func aBeatOfAPacedWatchTakesNoHeldLineFromWhoResumesFromIt() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.control)
            _ = try await watcher.ask(#"{"op":"watch","everyMs":3600000,"beatMs":100}"#)
            let setter = try daemon.connect(\.control)
            try await setter.pipeline(1...1) { _ in "set ready value=true" }
            var line = try await watcher.next()
            while line.type == "beat" { line = try await watcher.next() }
            #expect(line.seq == 1)
            _ = try await setter.ask("set ready value=false")
            while line.seq != 2 { line = try await watcher.next() }
            #expect(line.type == "beat")
            let cursor = try #require(line.string("cursor"))
            let again = try await setter.ask(#"{"op":"watch","since":"\#(cursor)"}"#)
            #expect(again.type == "change")
            #expect(again.seq == 2)
        }
    }

    @Test
    func aBeatIsTheLineThatALaterLossIsCountedFrom() async throws {
        try await DaemonProcess.run("--ring-changes", "16") { daemon in
            let watcher = try daemon.connect(\.control)
            _ = try await watcher.ask(#"{"op":"watch","only":["authentication"],"beatMs":100}"#)
            let setter = try daemon.connect(\.control)
            try await setter.pipeline(1...10) { "set ready value=\($0 % 2 == 1)" }
            var line = try await watcher.next()
            while line.seq != 10 { line = try await watcher.next() }
            #expect(line.type == "beat")
            let cause = String(repeating: "x", count: 250)
            try await setter.pipeline(11...5000) {
                #"{"op":"set","state":"authentication","data":{"phase":"active"},"#
                    + #""reenter":true,"cause":"\#(cause)\#($0)"}"#
            }
            var last = 10
            while line.type != "state" {
                if let seq = line.seq { last = seq }
                line = try await watcher.next()
            }
            #expect(line.string("resync") == "lagged")
            #expect(line.int("missed") == (line.seq ?? 0) - last)
        }
    }

    @Test
    func severalWatchesOfOneConnectionKeepTheirIds() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            for watch in [
                #"{"op":"watch"}"#, #"{"op":"watch","id":1,"only":["ready"]}"#,
                #"{"op":"watch","id":"1","only":["authentication:phase=failure"]}"#,
            ] {
                let first = try await client.ask(watch)
                #expect(first.type == "state")
                #expect(first.state == "ready")
            }
            let setter = try daemon.connect(\.control)
            _ = try await setter.ask("set authentication phase=active")
            _ = try await setter.ask("set authentication phase=failure")
            _ = try await setter.ask("set ready value=true")
            try client.send(#"{"op":"ping","id":"end"}"#)
            var seen: [String: [Int]] = [:]
            while true {
                let line = try await client.next()
                if line.string("id") == "end" { break }
                let name = line.int("id").map { "\($0)" } ?? line.string("id").map { "\"\($0)\"" }
                seen[name ?? "none", default: []].append(try #require(line.seq))
            }
            #expect(seen == ["none": [1, 2, 3], "1": [3], "\"1\"": [2]])
        }
    }

    @Test
    func nothingFollowsTheReplyToUnwatch() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.events)
            #expect(try await client.next().type == "state")
            #expect(try await client.ask("unwatch").ok == true)
            _ = try await daemon.ask(\.control, "set ready value=true")
            #expect(try await client.ask("ping").seq == 1)
            #expect(try await client.ask("unwatch").error == "not-found")
        }
    }
}

import TestSupport
import Testing

/// What watches and waits may ask for, and where a returning reader resumes.
@Suite(.bounded) struct WatchTests {
    @Test func aPacedWatchGetsTheFirstLineAtOnceAndEveryHeldOne() async throws {
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
            try await daemon.change(after: 1, upTo: 9)
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

    @Test func aBeatShowsTheCurrentStateWhenNothingElseCame() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.control)
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

    @Test func aBeatOfAPacedWatchTakesNoHeldLineFromWhoResumesFromIt() async throws {
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

    @Test func anExplicitWatchOutlivesTheClientsEndOfFile() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.control)
            try watcher.send("watch")
            watcher.endInput()
            #expect(try await watcher.next().type == "state")
            #expect(try await daemon.ask(\.control, "set ready value=true").ok == true)
            #expect(try await watcher.next().seq == 1)
        }
    }

    @Test func aPendingWaitIsAnsweredAfterTheClientsEndOfFile() async throws {
        try await DaemonProcess.run { daemon in
            let waiter = try daemon.connect(\.events)
            try waiter.send("wait ready:value=true")
            waiter.endInput()
            #expect(try await waiter.next().type == "state")
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask("set authentication phase=active").ok == true)
            #expect(try await setter.ask("set ready value=true").ok == true)
            let rest = try await waiter.rest()
            #expect(rest.map(\.type) == ["reply"])
            #expect(rest.first?.string("matched") == "ready:value=true")
        }
    }

    @Test func theSameSeqHasTheSameBytesReplayedAsLive() async throws {
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

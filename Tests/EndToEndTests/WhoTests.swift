import Foundation
import Subprocess
import TestSupport
import Testing

/// Who asked for a change: the command and the unit, as well as the user and the process.
@Suite(.bounded) struct WhoTests {
    /// This process's name.
    private static var comm: String {
        get throws {
            let text = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
            return String(text.dropLast())
        }
    }

    private static func who(_ line: JSONLine) -> [String?] {
        let by = line.item("by")
        return [
            by?.int("uid").map { "\($0)" }, by?.int("pid").map { "\($0)" }, by?.string("comm"),
            by?.string("unit"),
        ]
    }

    @Test func statsHasARowForEverybodyTheAskerIncluded() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.events)
            _ = try await watcher.next()
            let client = try daemon.connect(\.control)
            _ = try await client.ask(#"{"op":"watch","only":["authentication"]}"#)
            _ = try await client.hold("authentication", #""why":"x""#)
            _ = try await client.guard("g", "authentication", #""why":"x""#)
            try client.send("wait authentication")
            #expect(try await client.ask("set ready value=true").seq == 1)
            #expect(try await watcher.next().seq == 1)
            let stats = try await client.ask("stats")
            let rows = try #require(stats.items("connections"))
            #expect(rows.count == 2)
            #expect(Set(rows.map { $0.string("door") }) == ["control", "events"])
            let own = try #require(rows.first { $0.string("door") == "control" })
            #expect(own.has("uid") && own.has("pid") && own.has("bytes"))
            #expect(["watches", "waits", "holds", "guards"].map { own.int($0) } == [1, 1, 1, 1])
            #expect(rows.map { $0.int("lag") } == [0, 0])
            #expect(rows.map { $0.int("resyncs") } == [0, 0])
            #expect(stats.item("counters")?.int("changes") == 1)
            watcher.vanish()
        }
    }

    @Test func aChangeTellsTheCommandWhereverItIsShown() async throws {
        try await withTemporaryDirectory { directory in
            let comm = try Self.comm
            for isKilled in [true, false] {
                let ended = try await DaemonProcess.run(in: directory, isDurable: true) {
                    daemon in
                    let watch = try daemon.connect(\.events)
                    let state = try await watch.next()
                    let setter = try daemon.connect(\.control)
                    let value = state.item("data")?.bool("value") != true
                    #expect(
                        try await setter.ask("set ready value=\(value)").bool("changed") == true
                    )
                    let change = try await watch.next()
                    #expect(change.item("by")?.string("comm") == comm)
                    #expect(change.item("by")?.int("pid") == Int(getpid()))
                    let get = try await setter.ask("get")
                    #expect(Self.who(get) == Self.who(change))
                    try setter.send("history")
                    let kept = try await setter.next()
                    #expect(kept.item("by")?.string("comm") == comm)
                    let row = try #require(
                        try await daemon.ask(\.control, "stats").items("connections")?.first
                    )
                    #expect(row.string("comm") == comm)
                    if isKilled { try daemon.send(.kill) }
                }
                #expect(isKilled == (ended.status == .signaled(SIGKILL)))
            }
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                // From the database, byte for byte as it was sent.
                let client = try daemon.connect(\.control)
                let get = try await client.ask("get")
                #expect(get.item("by")?.string("comm") == comm)
                try client.send("history")
                let (first, second) = (try await client.next(), try await client.next())
                #expect(Self.who(first) == Self.who(second))
                #expect(Self.who(first) == Self.who(get))
            }
        }
    }

    /// Every kind of byte that a file name may have, within the fifteen that the kernel keeps.
    @Test func aStrangeNameIsEscapedAndFound() async throws {
        try await withTemporaryDirectory { directory in
            let tool = try await runTool(.name("sh"), ["-c", "command -v socat"])
            let socat = tool.output.trimmingCharacters(in: .newlines)
            let name = "o\"d\\d\u{1B}\né"
            try FileManager.default.copyItem(atPath: socat, toPath: "\(directory)/\(name)")
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let script = #"exec "$0" -t 60 - "UNIX-CONNECT:$1""#
                let set = try await runTool(
                    .name("sh"),
                    ["-c", script, "\(directory)/\(name)", daemon.control],
                    input: "set ready value=true\n"
                )
                #expect(set.output.contains(#""changed":true"#))
                let client = try daemon.connect(\.control)
                #expect(try await client.ask("get").item("by")?.string("comm") == name)
                let asked = try JSONSerialization.data(
                    withJSONObject: ["op": "history", "by": name]
                )
                try client.send(String(decoding: asked, as: UTF8.self))
                #expect(try await client.next().seq == 1)
                #expect(try await client.next().int("count") == 1)
                let got = try await daemon.statectl("get")
                #expect(got.output.contains(", o\"d\\d\\u{1b}\\u{a}é)"), "\(got.output)")
            }
        }
    }

    @Test func aConnectionThatIsHandedOverKeepsWhatItWasKnownAs() async throws {
        try await withService { service, first in
            let setter = try first.connect(\.control)
            #expect(try await setter.ask("ping").ok == true)
            let second = try await service.restart(first)
            #expect(try await setter.ask("set ready value=true").bool("changed") == true)
            #expect(try await setter.ask("get").item("by")?.string("comm") == Self.comm)
            try await second.end()
        }
    }
}

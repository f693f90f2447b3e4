import TestSupport
import Testing

/// `history` and `stats`: past changes, and who is connected.
@Suite(.bounded)
struct HistoryTests {
    struct Case: Sendable {
        let keys: String
        let seqs: [Int]
        var more = false
        var resync: String?
    }

    @Test
    func historyShowsWhatWasAskedFor() async throws {
        try await DaemonProcess.run("--ring-changes", "16") { daemon in
            let setter = try daemon.connect(\.control)
            try await setter.pipeline(1...20) {
                $0 % 4 == 0 ? "set authentication phase=active" : "set ready value=\($0 % 2 == 1)"
            }
            let epoch = try await daemon.epoch()
            let client = try daemon.connect(\.control)
            for one in [
                Case(keys: "", seqs: Array(5...20)),
                Case(keys: #","since":"\#(epoch):17""#, seqs: [18, 19, 20]),
                Case(keys: #","since":"\#(epoch):20""#, seqs: []),
                Case(keys: #","limit":3"#, seqs: [5, 6, 7], more: true),
                Case(keys: #","limit":3,"since":"\#(epoch):17""#, seqs: [18, 19, 20]),
                Case(keys: #","limit":0"#, seqs: [], more: true),
                Case(keys: #","limit":0,"since":"\#(epoch):20""#, seqs: []),
                Case(keys: #","only":["authentication"]"#, seqs: [8, 12, 16, 20]),
                Case(
                    keys: #","only":["authentication"],"limit":3"#,
                    seqs: [8, 12, 16],
                    more: true
                ),
                Case(keys: #","only":["authentication"],"limit":4"#, seqs: [8, 12, 16, 20]),
                Case(
                    keys: #","since":"\#(epoch):3","limit":1"#,
                    seqs: [5],
                    more: true,
                    resync: "evicted"
                ),
                Case(
                    keys: #","since":"\#(epoch):21","limit":16"#,
                    seqs: Array(5...20),
                    resync: "unknown"
                ),
                Case(keys: #","since":"x","only":["dataRetrieval"]"#, seqs: [], resync: "unknown"),
            ] {
                try client.send(#"{"op":"history","id":"h"\#(one.keys)}"#)
                for seq in one.seqs {
                    let line = try await client.next()
                    #expect(line.type == "change", "\(one)")
                    #expect(line.string("id") == "h")
                    #expect(line.seq == seq, "\(one)")
                    #expect(line.bool("replay") == true)
                }
                let reply = try await client.next()
                #expect(reply.type == "reply", "\(one)")
                #expect(reply.int("count") == one.seqs.count)
                #expect(reply.bool("more") == one.more, "\(one)")
                #expect(reply.string("resync") == one.resync, "\(one)")
            }
            #expect(try await client.ask(#"{"op":"history","limit":10001}"#).error == "bad-request")
        }
    }

    @Test
    func statsHasARowForEverybodyTheAskerIncluded() async throws {
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
}

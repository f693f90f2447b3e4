import Glibc
import TestSupport
import Testing

/// Readers whose cursor is older than the ring, and what else the history is used for.
@Suite(.bounded) struct DurabilityReplayTests {
    @Test(arguments: [true, false])
    func whatIsKeptIsReplayedThenLive(isDurable: Bool) async throws {
        try await DaemonProcess.run(changes: 2000, isDurable: isDurable) { daemon in
            let epoch = try await daemon.epoch()
            // From the disk, or the oldest that the ring has.
            let first = isDurable ? 0 : 1936
            for (since, only, expected) in [
                (first, "", Array(first + 1...2000)),
                (1990, "", Array(1991...2000)),
                (1999, "", [2000]), (2000, "", []),
                (
                    first + 4, #","only":["ready:value=true"]"#,
                    Array(stride(from: first + 5, to: 2000, by: 2))
                ),
                (first + 4, #","only":["authentication"]"#, []),
            ] {
                let client = try daemon.connect(\.control)
                try client.send(#"{"op":"watch","id":1,"since":"\#(epoch):\#(since)"\#(only)}"#)
                // A reply waits for the replay.
                try client.send("ping")
                for seq in expected {
                    let line = try await client.next()
                    #expect(line.type == "change" && line.bool("replay") == true)
                    #expect(line.seq == seq && line.int("id") == 1)
                }
                let live = try await client.next()
                #expect(live.type == "live" && live.seq == 2000)
                #expect(
                    live.keys == ["type", "id", "seq", "state", "data", "cursor"]
                        + (only.isEmpty ? [] : ["selected"])
                )
                #expect(live.bool("selected") == (only.isEmpty ? nil : false))
                #expect(try await client.next().seq == 2000)
            }
        }
    }

    @Test func aReplayThatCollapsesCountsWhatItLeavesOut() async throws {
        try await DaemonProcess.run(changes: 1500) { daemon in
            let client = try daemon.connect(\.control)
            let epoch = try await daemon.epoch()
            try client.send(#"{"op":"watch","mode":"latest","since":"\#(epoch):0"}"#)
            var counted = 0
            for line in try await client.changes().changes {
                counted += 1 + (line.int("skipped") ?? 0)
                #expect(line.seq == counted)
            }
            #expect(counted == 1500)
        }
    }

    @Test func aWaitLooksAtAllThatWasBeforeTheRing() async throws {
        try await DaemonProcess.run("--ring-changes", "64", isDurable: true) { daemon in
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask("set authentication phase=failure").seq == 1)
            try await daemon.change(upTo: 1500)
            let client = try daemon.connect(\.control)
            let epoch = try await daemon.epoch()
            func wait(_ since: Int, _ pattern: String) -> String {
                #"{"op":"wait","since":"\#(epoch):\#(since)","until":["\#(pattern)"],"timeoutMs":0}"#
            }
            let found = try await client.ask(wait(0, "authentication:phase=failure"))
            #expect(found.ok == true && found.seq == 1)
            #expect(found.string("matched") == "authentication:phase=failure")
            #expect(try await client.ask(wait(1, "authentication")).error == "timeout")
            let newest = try await client.ask(wait(1, "ready:value=false"))
            #expect(newest.seq == 3)
        }
    }

    @Test func historyReachesBackAndSaysWhetherThereIsMore() async throws {
        try await DaemonProcess.run(changes: 1500) { daemon in
            let epoch = try await daemon.epoch()
            for (request, expected, hasMore) in [
                ("", Array(1...1000), true),
                (#","limit":10000"#, Array(1...1500), false),
                (#","limit":3,"since":"\#(epoch):700""#, [701, 702, 703], true),
                (#","limit":1500"#, Array(1...1500), false),
                (
                    #","only":["ready:value=false"],"since":"\#(epoch):1000""#,
                    Array(stride(from: 1002, through: 1500, by: 2)), false
                ),
                (#","only":["authentication"]"#, [], false),
            ] as [(String, [Int], Bool)] {
                let client = try daemon.connect(\.control)
                try client.send(#"{"op":"history"\#(request)}"#)
                client.endInput()
                let lines = try await client.rest()
                #expect(lines.dropLast().map(\.seq) == expected, "\(request)")
                #expect(lines.last?.int("count") == expected.count)
                #expect(lines.last?.bool("more") == hasMore, "\(request)")
            }
        }
    }

    @Test func aReaderThatStopsInAReplayGoesOnWhereItWasOrIsTold() async throws {
        try await DaemonProcess.run(
            "--ring-changes",
            "64",
            "--keep-changes",
            "10000",
            isDurable: true
        ) { daemon in
            try await daemon.change(upTo: 6000)
            let epoch = try await daemon.epoch()
            let patient = try daemon.connect(\.control)
            try patient.send(#"{"op":"watch","since":"\#(epoch):0"}"#)
            #expect(try await patient.next().seq == 1)
            // It reads nothing while changes go on; what it has yet to read is kept.
            try await daemon.change(after: 6000, upTo: 7000)
            for seq in 2...7000 { #expect(try await patient.next().seq == seq) }

            let late = try daemon.connect(\.control)
            try late.send(#"{"op":"watch","since":"\#(epoch):0"}"#)
            #expect(try await late.next().seq == 1)
            try await daemon.change(after: 7000, upTo: 25000)
            let (changes, line) = try await late.changes()
            let last = changes.count + 1
            #expect(changes.map(\.seq) == Array((1..<last).map { $0 + 1 }))
            #expect(line.string("resync") == "evicted")
            // Mostly 25000; on a busy machine its next piece may have come too late before.
            #expect(line.int("missed") == (line.seq ?? 0) - last)
        }
    }

    @Test func repliesKeepTheirOrderThoughSetsWaitForTheDisk() async throws {
        try await DaemonProcess.run("--ring-changes", "64", isDurable: true) { daemon in
            let client = try daemon.connect(\.control)
            var requests = ""
            for number in 1...50 {
                requests += "set ready value=\(number % 2 == 1)\nget\nset nonsense\nnonsense\n"
            }
            try client.send(raw: requests)
            client.endInput()
            let replies = try await client.rest()
            #expect(replies.count == 200)
            for (index, reply) in replies.enumerated() {
                let number = index / 4 + 1
                switch index % 4 {
                case 0: #expect(reply.bool("changed") == true && reply.seq == number)
                case 1: #expect(!reply.has("changed") && reply.seq == number)
                case 2: #expect(reply.error == "unknown-state")
                default: #expect(reply.error == "unknown-op")
                }
            }
        }
    }

    @Test func describeSaysWhatIsKept() async throws {
        try await DaemonProcess.run(
            "--keep-changes",
            "77",
            "--keep-days",
            "8",
            "--keep-bytes",
            "2000000",
            "--durability",
            "disk",
            isDurable: true
        ) { daemon in
            let limits = try #require(try await daemon.ask(\.control, "describe").item("limits"))
            #expect(limits.int("keepChanges") == 77)
            #expect(limits.int("keepDays") == 8)
            #expect(limits.int("keepBytes") == 2_000_000)
            #expect(limits.string("durability") == "disk")
        }
    }

    @Test func ephemeralBeatsEverySetting() async throws {
        try await withTemporaryDirectory { directory in
            let state = "\(directory)/state"
            try await DaemonProcess.run("--state-directory", state, "--ephemeral") { daemon in
                let described = try await daemon.ask(\.control, "describe")
                #expect(described.item("limits")?.has("durability") == false)
            }
            #expect(access(state, F_OK) != 0)
        }
    }
}

import TestSupport
import Testing

/// Requests that wait for sets on their way to the disk.
@Suite(.bounded) struct PipelineTests {
    /// With so small a ring, it is half full in the middle of a turn, and everybody is written to
    /// then.
    @Test func whoeverWaitsForTheDiskIsReadAgain() async throws {
        try await DaemonProcess.run("--ring-changes", "8", isDurable: true) { daemon in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for sets in 1...8 {
                    let client = try daemon.connect(\.control)
                    group.addTask {
                        for _ in 1...50 { try await Self.round(of: sets, client) }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(arguments: [false, true])
    func eachOfSeveralHistoriesInARowIsAnswered(isDurable: Bool) async throws {
        try await DaemonProcess.run(isDurable: isDurable) { daemon in
            let client = try daemon.connect(\.control)
            _ = try await client.ask("set ready value=true")
            let kinds = [#","outline":true"#, #","limit":0"#, "", #","order":"newest""#]
            try client.send(
                raw: (0..<12).map { #"{"op":"history","id":\#($0)\#(kinds[$0 % 4])}"# + "\n" }
                    .joined()
            )
            var answered: [Int] = []
            while answered.count < 12 {
                let line = try await client.next()
                if line.type == "reply" { answered.append(try #require(line.int("id"))) }
            }
            #expect(answered == Array(0..<12))
        }
    }

    /// A hold answers at once, in the middle of the handover to the disk; with so small a ring
    /// everybody is written to there too.
    @Test func whatAHoldRefusesTakesNoChangeWithIt() async throws {
        try await DaemonProcess.run("--ring-changes", "4", isDurable: true) { daemon in
            let holder = try daemon.connect(\.control)
            _ = try await holder.ask(#"{"op":"hold","before":["authentication"]}"#)
            let reader = try daemon.connect(\.events)
            let first = try #require(try await reader.next().seq)
            let reading = Task {
                var last = first
                while true {
                    let line = try await reader.next()
                    let seq = try #require(line.seq)
                    if line.type == "change" {
                        #expect(seq == last + 1)
                    } else {
                        #expect(line.string("resync") == "lagged")
                        #expect(seq > last)
                    }
                    last = seq
                    if line.string("state") == "dataRetrieval" { return }
                }
            }
            let round =
                "set ready value=true\nset ready value=false\nset authentication phase=idle\nget\n"
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...3 {
                    let setter = try daemon.connect(\.control)
                    group.addTask {
                        for _ in 1...50 {
                            try setter.send(raw: String(repeating: round, count: 8))
                            for _ in 1...32 { _ = try await setter.next() }
                        }
                    }
                }
                try await group.waitForAll()
            }
            _ = try await holder.ask("set dataRetrieval phase=idle")
            try await reading.value
        }
    }

    /// Even if its last answer was written in the middle of a turn, for the sake of readers.
    @Test func whoHasSaidAllIsToldOfTheEnd() async throws {
        try await DaemonProcess.run("--ring-changes", "8", isDurable: true) { daemon in
            let other = try daemon.connect(\.control)
            let round = String(
                repeating: "set ready value=true\nset ready value=false\n",
                count: 20
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while !Task.isCancelled {
                        try other.send(raw: round)
                        for _ in 1...40 { _ = try await other.next() }
                    }
                }
                for number in 1...300 {
                    let client = try daemon.connect(\.control)
                    let sets = number % 19 + 1
                    try client.send(raw: String(repeating: "set ready value=true\n", count: sets))
                    client.endInput()
                    #expect(try await client.rest().count == sets)
                }
                group.cancelAll()
                try await group.waitForAll()
            }
        }
    }

    private static func round(of sets: Int, _ client: LineSocket) async throws {
        let line = #"{"op":"set","state":"ready","data":{"value":true},"reenter":true}"# + "\n"
        try client.send(raw: String(repeating: line, count: sets) + "ping\n")
        for _ in 1...sets { #expect(try await client.next().bool("changed") == true) }
        let last = try await client.next()
        #expect(last.ok == true && !last.has("changed"))
    }
}

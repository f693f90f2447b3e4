import Foundation
import TestSupport
import Testing

/// The protocol's guarantees, each over real sockets; the numbers are the protocol's.
@Suite(.bounded)
struct GuaranteeTests {
    /// Guarantees 1 and 2: no jump without an announcement.
    @Test
    func aReaderThatFallsBehindIsToldHowMuchItMissed() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory, arguments: ["--log-level", "error"]) {
                daemon in
                let slow = try daemon.connect(\.events)
                #expect(try await slow.next().seq == 0)
                let changes = 20_000
                let setter = try daemon.connect(\.control)
                try await setter.pipeline(1...changes) { #"set ready value=\#($0 % 2 == 1)"# }

                var last = 0
                var resyncs = 0
                while last < changes {
                    let line = try await slow.next()
                    let seq = try #require(line.seq)
                    switch line.type {
                    case "change":
                        #expect(seq == last + 1)
                    case "state":
                        resyncs += 1
                        #expect(line.string("resync") == "lagged")
                        #expect(line.int("missed") == seq - last)
                        #expect(line.has("data"))
                    default:
                        Issue.record("unexpected line: \(line)")
                    }
                    last = seq
                }
                #expect(resyncs == 1)
                #expect(try await setter.ask("set authentication phase=idle").seq == changes + 1)
                #expect(try await slow.next().seq == changes + 1)
            }
        }
    }

    /// Guarantee 2: whatever a client sent before it vanished is decided at once, however much it
    /// is, and still no reader misses any of it.
    @Test
    func aSetterThatVanishesCostsNoReaderALine() async throws {
        try await DaemonProcess.run("--ring-changes", "64", "--log-level", "error") { daemon in
            let reader = try daemon.connect(\.events)
            #expect(try await reader.next().seq == 0)
            var last = 0
            for _ in 1...20 {
                let setter = try daemon.connect(\.control)
                let sets = (1...500).map { "set ready value=\(($0 + last) % 2 == 1)\n" }
                try setter.send(raw: sets.joined())
                setter.vanish()
                for _ in sets {
                    let line = try await reader.next()
                    #expect(line.type == "change")
                    #expect(line.seq == last + 1)
                    last = try #require(line.seq)
                }
            }
        }
    }

    /// Guarantee 3.
    @Test
    func theIdenticalStateDoesNotRaiseSeq() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let client = try daemon.connect(\.control)
                let first = try await client.ask("set ready value=true")
                #expect(first.bool("changed") == true)
                #expect(first.seq == 1)
                let second = try await client.ask("set ready value=true")
                #expect(second.bool("changed") == false)
                #expect(second.seq == 1)
                let third = try await client.ask(
                    #"{"op":"set","state":"ready","data":{"value":true},"reenter":true}"#
                )
                #expect(third.bool("changed") == true)
                #expect(third.seq == 2)
            }
        }
    }

    /// Guarantee 4, with several watches, some of which begin and end between the sets.
    @Test
    func aReplyComesAfterEveryWatchHasReachedItsSeq() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory, arguments: ["--log-level", "error"]) {
                daemon in
                let client = try daemon.connect(\.control)
                let other = try daemon.connect(\.control)
                let rounds = 300
                let writer = Task {
                    try await other.pipeline(1...rounds * 4) {
                        #"set dataRetrieval phase=\#($0 % 2 == 0 ? "idle" : "active")"#
                    }
                }
                var text = ""
                for round in 1...rounds {
                    let data = #"{"value":\#(round % 2 == 0)}"#
                    text += #"{"op":"watch","id":\#(round % 5)}"# + "\n"
                    text += #"{"op":"set","id":"s","state":"ready","data":\#(data)}"# + "\n"
                    text += #"{"op":"ping","id":"p"}"# + "\n"
                    if round > 3 { text += #"{"op":"unwatch","id":\#((round - 3) % 5)}"# + "\n" }
                }
                let requests = text
                let sender = Task { try await blocking { try client.send(raw: requests) } }
                var reached: [Int: Int] = [:]
                var replies = 0
                while replies < rounds * 2 {
                    let line = try await client.next()
                    switch (line.type, line.int("id"), line.seq) {
                    case ("state", let id?, let seq?), ("change", let id?, let seq?):
                        if line.type == "change" { #expect(reached[id] == seq - 1) }
                        reached[id] = seq
                    case ("reply", let id?, nil):
                        reached[id] = nil
                    case ("reply", nil, let seq?):
                        replies += 1
                        #expect(reached.values.allSatisfy { $0 >= seq }, "\(line), \(reached)")
                    default:
                        Issue.record("unexpected line: \(line)")
                    }
                }
                try await sender.value
                try await writer.value
            }
        }
    }

    /// Guarantee 4, for sets that are read together and answered together; with a small ring
    /// everybody is written to in between.
    @Test(arguments: [4096, 16])
    func anAnswerComesAfterAllChangesUpToIt(ringChanges: Int) async throws {
        try await DaemonProcess.run("--ring-changes", "\(ringChanges)", "--log-level", "error") {
            daemon in
            let client = try daemon.connect(\.control)
            #expect(try await client.ask("watch").type == "state")
            let sets = 2000
            let lines = (1...sets).map {
                #"{"op":"set","state":"ready","data":{"value":\#($0 % 2 == 1)}}"# + "\n"
            }
            let sender = Task { try await blocking { try client.send(raw: lines.joined()) } }
            var (shown, answered) = (0, 0)
            while answered < sets {
                let line = try await client.next()
                switch line.type {
                case "change", "state": shown = try #require(line.seq)
                case "reply":
                    answered += 1
                    #expect(line.seq == answered)
                    #expect(shown >= answered)
                default: Issue.record("unexpected line: \(line)")
                }
            }
            try await sender.value
        }
    }

    /// Guarantee 5: a reader that reads in small pieces still gets whole lines.
    @Test
    func linesAreWholeHoweverTheyAreRead() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory, arguments: ["--log-level", "error"]) {
                daemon in
                let client = try daemon.connect(\.control)
                try client.send(#"{"op":"watch","id":"a"}"#)
                try client.send(#"{"op":"watch","id":"b","only":["ready"]}"#)
                let setter = try daemon.connect(\.control)
                let cause = String(repeating: "é", count: 120)
                let changes = 3000
                try await setter.pipeline(1...changes) {
                    #"{"op":"set","state":"ready","data":{"value":\#($0 % 2 == 1)},"#
                        + #""cause":"\#(cause)"}"#
                }
                try client.send(#"{"op":"ping","id":"end"}"#)
                var seqs: [String: Int] = [:]
                while true {
                    let line = try await client.next()
                    let id = try #require(line.string("id"))
                    if id == "end" { break }
                    let seq = try #require(line.seq)
                    if line.type == "change" {
                        #expect(seqs[id] == seq - 1)
                        #expect(line.string("cause") == cause)
                    }
                    seqs[id] = seq
                }
                #expect(seqs == ["a": changes, "b": changes])
            }
        }
    }

    /// The design's first measure: everybody gets everything, in order.
    @Test
    func aHundredSubscribersSeeTwentyThousandChangesInOrder() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory, arguments: ["--log-level", "error"]) {
                daemon in
                let changes = 20_000
                let subscribers = 100
                let readers = try await Subscribers(subscribers, at: daemon.events)
                let epoch = try #require(
                    try await daemon.ask(\.control, "get").string("cursor")?.split(separator: ":")
                        .first
                )
                let reading = Task {
                    try await readers.readAll(upTo: "\"cursor\":\"\(epoch):\(changes)\"}\n")
                }
                let setter = try daemon.connect(\.control)
                try await setter.pipeline(1...changes, unanswered: 256) {
                    #"set ready value=\#($0 % 2 == 1)"#
                }
                let stream = String(decoding: try await reading.value, as: UTF8.self)
                let lines = stream.split(separator: "\n")
                #expect(lines.count == changes)
                let isInOrder = lines.enumerated().allSatisfy { index, line in
                    line.hasPrefix(#"{"type":"change","seq":\#(index + 1),"#)
                }
                #expect(isInOrder)
            }
        }
    }
}

extension LineSocket {
    /// Sends a request for each number and reads the replies, with at most `unanswered`
    /// outstanding.
    func pipeline(
        _ numbers: ClosedRange<Int>,
        unanswered: Int = 256,
        _ request: @escaping @Sendable (Int) -> String
    ) async throws {
        try await blocking {
            var open = 0
            for start in stride(from: numbers.lowerBound, through: numbers.upperBound, by: 64) {
                let batch = start...min(start + 63, numbers.upperBound)
                while open + batch.count > unanswered {
                    _ = try self.reply()
                    open -= 1
                }
                try self.send(raw: batch.map { request($0) + "\n" }.joined())
                open += batch.count
            }
            while open > 0 {
                _ = try self.reply()
                open -= 1
            }
        }
    }

    private func reply() throws -> String {
        guard let line = try self.readLine() else { throw TestFailure("the connection ended") }
        guard line.contains(#""ok":true"#) else { throw TestFailure("refused: \(line)") }
        return line
    }
}

import Foundation
import TestSupport
import Testing

/// What clients that send long requests, or do not read, cost the daemon in memory.
@Suite(.bounded, .serialized) struct MemoryTests {
    private static let clients = AttackSize.count(8, full: 64)

    /// The protocol's `lineBytes`, `requestBytesPerConnection`, `replyBytesPerConnection` and
    /// `repliesInFlight`.
    private static let lineBytes = 65_536
    private static let requestBytes = 131_072
    private static let replyBytes = 65_536
    private static let repliesInFlight = 32

    private static let watches = 8
    private static let waits = AttackSize.count(16, full: 32)

    /// How much the daemon may grow regardless of how much it is sent, in KiB.
    private static let allowance = 4 << 10

    /// A request of the maximum length, padded with spaces.
    private static func padded(_ request: String) -> String {
        let spaces = Self.lineBytes - request.utf8.count
        return request.dropLast() + String(repeating: " ", count: spaces) + "}"
    }

    private static func wait(_ id: Int) -> String {
        Self.padded(#"{"op":"wait","id":\#(id),"until":["authentication"]}"#)
    }

    private static func watch(_ id: Int) -> String {
        Self.padded(#"{"op":"watch","id":\#(id)}"#)
    }

    @Test func aRequestThatWouldHaveTooMuchKeptIsRefused() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            try client.send(Self.wait(1))
            #expect(try await client.ask(Self.watch(2)).type == "state")
            let voting = #""before":["dataRetrieval"]}"#
            for request in [
                Self.wait(3), Self.watch(4), Self.padded(#"{"op":"hold",\#(voting)"#),
                Self.padded(#"{"op":"guard",\#(voting)"#), #"{"op":"watch"}"#,
            ] {
                let refusal = try await client.ask(request)
                #expect(refusal.error == "limit")
                #expect(refusal.string("message")?.contains("requestBytesPerConnection") == true)
            }
            // The refused requests leave nothing behind: no hold denies this.
            try client.send("set dataRetrieval phase=active")
            #expect(try await client.next().type == "change")
            #expect(try await client.next().ok == true)
            // Ending a watch makes room.
            #expect(try await client.ask(#"{"op":"unwatch","id":2}"#).ok == true)
            #expect(try await client.ask(Self.padded(#"{"op":"hold",\#(voting)"#)).ok == true)
            #expect(try await client.ask(#"{"op":"watch"}"#).error == "limit")
            try client.send("set authentication phase=active")
            #expect(
                Set([try await client.next(), try await client.next()].compactMap { $0.int("id") })
                    == [1]
            )
            #expect(try await client.ask(#"{"op":"watch"}"#).type == "state")
        }
    }

    @Test func keptRequestsCostNoMoreThanTheirLimit() async throws {
        try await DaemonProcess.run("--max-connections-per-uid", "200") { daemon in
            let clients = try (0..<Self.clients).map { _ in try daemon.connect(\.control) }
            for client in clients { _ = try await client.ask("ping") }
            let start = try daemon.residentKiB()
            for client in clients {
                let requests = Self.watches + Self.waits
                for id in 0..<Self.watches { try client.send(Self.watch(id)) }
                for id in Self.watches..<requests { try client.send(Self.wait(id)) }
                try client.send("ping")
                var refused = 0
                while true {
                    let line = try await client.next()
                    if line.type == "reply", line.ok == true { break }
                    if line.error == "limit" { refused += 1 }
                }
                #expect(refused == requests - Self.requestBytes / Self.lineBytes)
            }
            let end = try daemon.residentKiB()
            // Reading needs room for one more line, and for the buffer that holds it.
            let share = (Self.requestBytes + 2 * Self.lineBytes) >> 10
            #expect(end - start <= Self.clients * share + Self.allowance, "\(start) became \(end)")
            print("kept requests: \(Self.clients) clients; \(start) KiB, then \(end)")
        }
    }

    @Test func unreadRepliesCostNoMoreThanTheirLimit() async throws {
        try await DaemonProcess.run("--max-connections-per-uid", "500") { daemon in
            // Each connection is a row of `stats`.
            let crowd = try (0..<400).map { _ in try daemon.connect(\.events) }
            let clients = try (0..<Self.clients).map { _ in try daemon.connect(\.control) }
            for client in clients { _ = try await client.ask("ping") }
            let other = try daemon.connect(\.control)
            let size = try await other.ask("stats").description.utf8.count
            let start = try daemon.residentKiB()
            for client in clients {
                try client.send(raw: String(repeating: "stats\n", count: Self.repliesInFlight))
            }
            // Each ping is answered after every other connection has had a turn.
            for _ in 0..<4 * Self.repliesInFlight { _ = try await other.ask("ping") }
            let end = try daemon.residentKiB()
            // A buffer's capacity may be twice its contents, and one reply may exceed the limit.
            let share = 2 * (Self.replyBytes + size) >> 10
            #expect(end - start <= Self.clients * share + Self.allowance, "\(start) became \(end)")
            print("unread replies: \(Self.clients) clients; \(start) KiB, then \(end)")
            // A client that reads gets all its answers.
            for client in clients {
                for _ in 0..<Self.repliesInFlight { #expect(try await client.next().ok == true) }
            }
            for client in crowd { #expect(try await client.next().type == "state") }
        }
    }

    /// The answer to `describe` of a machine as large as a file may declare is 4.7 MB: all clients share it.
    @Test func unreadDescriptionsAreThereOnce() async throws {
        let names = (0..<256).map { number in
            "s\(number)-" + String(repeating: "x", count: 59 - String(number).count)
        }
        let states = names.map { "  \($0): {to: any}" }.joined(separator: "\n")
        let file = "start: \(names[0])\nstates:\n\(states)\n"
        try await DaemonProcess.run("--max-connections-per-uid", "200", machine: file) { daemon in
            let other = try daemon.connect(\.control)
            let size = try await other.ask("describe").description.utf8.count
            #expect(size > 1 << 20)
            let clients = try (0..<40).map { _ in try daemon.connect(\.control) }
            for client in clients { _ = try await client.ask("ping") }
            let start = try daemon.residentKiB()
            for (number, client) in clients.enumerated() {
                try client.send(#"{"op":"watch"}"#)
                try client.send(
                    number.isMultiple(of: 2)
                        ? "describe" : #"{"op":"describe","id":\#(number)}"#
                )
            }
            for _ in 0..<40 { _ = try await other.ask("ping") }
            #expect(try await other.ask("set \(names[1])").ok == true)
            let end = try daemon.residentKiB()
            #expect(end - start <= 40 * 192 + Self.allowance, "\(start) became \(end)")
            print("unread descriptions: 40 clients; \(start) KiB, then \(end)")
            // Nothing comes in the middle of a line, and whoever reads gets all of it.
            for (number, client) in clients.enumerated() {
                #expect(try await client.next().type == "state")
                let reply = try await client.next()
                #expect(reply.int("id") == (number.isMultiple(of: 2) ? nil : number))
                #expect(reply.ok == true)
                #expect(try await client.next().type == "change")
            }
        }
    }
}

/// How hard the attacks in this group press: lightly in the check; with `STATEMACHINE_ATTACK=full`,
/// as hard as those that once worked.
enum AttackSize {
    static let isFull = ProcessInfo.processInfo.environment["STATEMACHINE_ATTACK"] == "full"

    /// `small` in the check, `full` at full size.
    static func count(_ small: Int, full: Int) -> Int { Self.isFull ? full : small }
}

import StateMachineCore
import TestSupport
import Testing

@testable import StateMachineServer

/// What a client is told that it may do now, and what is against the rest.
@Suite(.bounded) struct PossibleTests {
    private static let machine = """
        start: idle
        fields: {owner: {type: string, optional: true}}
        events:
          go: {}
          play: {title: string, loud: {type: boolean, default: false}}
          right: {code: integer}
          stop: {}
          touch: {}
          count: {by: {type: integer, default: 1}}
          never: {}
          shut: {}
        states:
          idle:
            fields: {tries: {type: integer, min: 0, max: 2, default: 0}}
            to: [busy, playing, idle]
            when:
              go: busy
              play: playing
              right: [{if: code=1, to: busy}, {refuse: wrong code}]
              touch: stay
              count: [keep tries+=1, {refuse: that was too often}]
              never: [{if: tries>1, to: busy}, ignore]
              shut: [{if: tries>1, to: busy}, {if: tries>1, to: locked}, {refuse: it is too early}]
            after: {1h: busy}
          busy: {when: {stop: idle}}
          playing: {fields: {title: string, volume: {type: integer, default: 40}}}
          locked: {when: {stop: idle}}
        """

    /// What is possible, one line each.
    private static func possible(_ daemon: DeclaredDaemon) async throws -> [String] {
        let reply = try await daemon.ask(#"{"op":"get","possible":true}"#)
        let possible = try #require(reply.item("possible"))
        let rows = try [("set", "state"), ("send", "event")].flatMap { key, name in
            try #require(possible.items(key)).map { row in
                let what = "\(key) \(row.string(name) ?? "?")"
                let needs = row.strings("needs").map { " with \($0.joined(separator: ", "))" } ?? ""
                let to = row.strings("to").map { " -> \($0.joined(separator: ", "))" } ?? ""
                let why = [
                    row.string("error"), row.string("message"),
                    row.bool("handled").map { "handled \($0)" },
                    row.strings("unmet").map { "[\($0.joined(separator: "; "))]" },
                ].compactMap(\.self).joined(separator: " ")
                return row.bool("ok") == true ? what + needs + to : "no \(what): \(why)"
            }
        }
        return rows
    }

    @Test func eachIsAsItWouldBeAnsweredNow() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            #expect(
                try await Self.possible(daemon) == [
                    "set idle", "set busy", "set playing with title",
                    "no set locked: illegal-transition locked may not be set from idle",
                    "send go -> busy", "send play with title -> playing",
                    "send right with code -> busy", "no send stop: handled false",
                    "send touch -> stay", "send count -> keep",
                    "no send never: handled true [tries>1 does not hold]",
                    "no send shut: refused it is too early [tries>1 does not hold; tries>1 does not hold]",
                ]
            )
            _ = try await daemon.ask("update tries=2")
            let later = try await Self.possible(daemon)
            #expect(later.contains("send never -> busy"))
            #expect(later.contains("send shut -> busy"))
            #expect(
                later.contains(
                    "no send count: refused that was too often [tries=3: must be at most 2]"
                )
            )
            _ = try await daemon.ask("set busy")
            let busy = try await Self.possible(daemon)
            #expect(busy.contains("send stop -> idle") && busy.contains("set locked"))
            #expect(busy.contains("no send go: handled false"))
        }
    }

    @Test func voterThatDenyAreNamedAndNobodyIsAsked() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let voter = try daemon.connect()
            let hold = { (before: String) in
                try await voter.ask(#"{"op":"hold","before":["\#(before)"],"why":"\#(before)"}"#)
            }
            #expect(try await hold("busy").int("hold") == 1)
            // What it carries is not known, and may be what this does not cover.
            #expect(try await hold("playing:volume>80").int("hold") == 2)
            _ = try await voter.ask(#"{"op":"guard","id":"g","before":["locked"]}"#)
            let rows = try await Self.possible(daemon)
            #expect(rows.contains("no set busy: denied denied by hold 1 (busy)"), "\(rows)")
            #expect(rows.contains("no send go: denied denied by hold 1 (busy)"))
            #expect(rows.contains("set playing with title"))
            // One way out of two is open no more, and the other is a refusal.
            #expect(rows.contains { $0.hasPrefix("no send right: ") })
            #expect(try await hold("playing").int("hold") == 4)
            let more = try await Self.possible(daemon)
            #expect(more.contains("no set playing: denied denied by hold 4 (playing)"))
            #expect(more.contains("no send play: denied denied by hold 4 (playing)"))
            #expect(try await hold("idle:tries=1").int("hold") == 5)
            let counted = try await Self.possible(daemon)
            #expect(counted.contains { $0.hasPrefix("no send count: denied denied by hold 5") })
            #expect(try await hold("!locked").int("hold") == 6)
            let all = try await Self.possible(daemon)
            #expect(all.contains { $0.hasPrefix("no set playing: ") && $0.contains("hold 6") })
            // Nobody has been asked.
            #expect(try await voter.ask("ping").type == "reply")
        }
    }

    @Test func whatIsLeftOfATimeIsKnown() async throws {
        let text = """
            start: idle
            events: {open: {}}
            states:
              idle: {}
              washing: {fields: {left: {type: time, optional: true}}, when: {open: "paused left={remaining}"}, after: {"{left}": idle}}
              paused: {fields: {left: time}, when: {open: washing}}
            """
        try await DeclaredDaemon.run(text) { daemon in
            _ = try await daemon.ask("set washing")
            let none = "no send open: bad-data left={remaining}: no time of washing is due"
            #expect(try await Self.possible(daemon).last == none)
            #expect(try await daemon.ask("send open").error == "bad-data")
            _ = try await daemon.ask("set washing left=1h")
            #expect(try await Self.possible(daemon).last == "send open -> paused")
            #expect(try await daemon.ask("send open").state == "paused")
        }
    }

    @Test func itIsAskedForAndAtTheControlDoorOnly() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            #expect(try await !daemon.ask("get").has("possible"))
            #expect(try await !daemon.ask(#"{"op":"get","possible":false}"#).has("possible"))
            let reader = try LineSocket(connectingTo: "\(daemon.runtime)/events.sock")
            _ = try await reader.next()
            #expect(try await reader.ask(#"{"op":"get","possible":true}"#).error == "forbidden")
            #expect(try await reader.ask("get").ok == true)
        }
    }

    /// As large a machine as may be, with as many holds as one connection may have, each on everything.
    @Test func aLargeMachineIsAnsweredAtOnce() async throws {
        let states = (0..<256).map { "  s\($0): {when: {e\($0 % 128): s\(($0 + 1) % 256)}}\n" }
        let events = (0..<128).map { "e\($0): {}" }.joined(separator: ", ")
        let text = "start: s0\nevents: {\(events)}\nstates:\n\(states.joined())"
        try await DeclaredDaemon.run(text) { daemon in
            let voter = try daemon.connect()
            for _ in 0..<8 {
                #expect(try await voter.ask(#"{"op":"hold","before":["!s1"]}"#).ok == true)
            }
            let rows = try await Self.possible(daemon)
            #expect(rows.count == 384)
            #expect(rows.filter { !$0.hasPrefix("no ") } == ["set s0", "set s1", "send e0 -> s1"])
        }
    }
}

import Foundation
import Glibc
import TestSupport
import Testing

/// Machines that see each other: real daemons, each in a directory of its own, which are restarted and killed.
@Suite(.bounded) struct LinkedDaemonTests {
    /// One that is set by hand.
    private static let water = """
        machine: water
        start: ok
        states:
          ok: {}
          empty: {}
          low: {fields: {level: {type: integer, default: 1}}}
        """

    private func link(_ name: String, to service: Service) -> String {
        "\(name): {runtime-directory: \(service.directory)/run}"
    }

    /// A service in a directory of its own there.
    private func service(
        _ name: String,
        in directory: String,
        _ machine: String,
        isDurable: Bool = true
    ) throws -> Service {
        let place = "\(directory)/\(name)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        return try Service(in: place, machine: machine, isDurable: isDurable)
    }

    /// One that is set by hand, and one that sees it by that name, which the rest of its text declares.
    private func pair(
        in directory: String,
        seeing name: String = "water",
        _ rest: String
    ) throws -> (water: Service, brew: Service) {
        let water = try self.service("water", in: directory, Self.water)
        let text = "machine: brew\nlinks: {\(self.link(name, to: water))}\n\(rest)"
        return (water, try self.service("brew", in: directory, text))
    }

    /// Waits until the machine is in a state like that.
    @discardableResult
    private func wait(_ daemon: ActivatedDaemon, for pattern: String) async throws -> JSONLine {
        let reply = try await daemon.connect(\.control)
            .ask(#"{"op":"wait","until":["\#(pattern)"],"timeoutMs":50000}"#)
        guard reply.ok == true else {
            let stats = try await daemon.connect(\.control).ask("stats")
            throw TestFailure("\(pattern): \(reply); \(stats)")
        }
        return reply
    }

    /// Waits until what is said of a link has that text.
    private func wait(_ daemon: ActivatedDaemon, forLink text: String) async throws {
        let connection = try daemon.connect(\.control)
        while true {
            let stats = try await connection.ask("stats")
            if stats.description.contains(text) { return }
        }
    }

    private func end(_ daemons: ActivatedDaemon...) async throws {
        for daemon in daemons { try await daemon.end() }
    }

    // MARK: - Requirements

    @Test func aRequirementThatIsNotMetDeniesWithASentence() async throws {
        try await withTemporaryDirectory { directory in
            let (water, brew) = try self.pair(
                in: directory,
                """
                start: idle
                events: {brew: {}}
                states:
                  idle: {when: {brew: brewing}, after: {1h: brewing}}
                  brewing: {requires: [water is ok], fields: {n: {type: integer, default: 0}}, when: {brew: again}}
                """
            )
            let brewer = try await brew.start()
            let client = try brewer.connect(\.control)
            let unseen = try await client.ask("set brewing")
            #expect(unseen.error == "denied")
            #expect(unseen.string("message") == "brewing needs water ok; it cannot be seen")
            let source = try await water.start()
            try await self.wait(brewer, forLink: #""link":"water","state":"ok""#)
            #expect(try await client.ask("set brewing").ok == true)
            _ = try await source.connect(\.control).ask("set empty")
            try await self.wait(brewer, forLink: #""link":"water","state":"empty""#)
            let sentence = "brewing needs water ok; it is empty"
            for request in [
                "set brewing n=1", "send brew", #"{"op":"set","state":"brewing","reenter":true}"#,
                #"{"op":"set","state":"brewing","data":{"n":2},"force":true}"#,
            ] {
                let denied = try await client.ask(request)
                #expect(
                    denied.error == "denied" && denied.string("message") == sentence,
                    "\(request): \(denied)"
                )
                #expect(
                    denied.description.contains(#""by":[{"link":"water","why":"\#(sentence)"}]"#)
                )
            }
            // Nothing is entered.
            #expect(try await client.ask("set brewing").bool("changed") == false)
            #expect(try await client.ask("update n=3").ok == true)
            let tool = try await BuiltProduct.statectl.run(
                ["--runtime-directory", "\(brew.directory)/run", "set", "brewing", "n=7"]
            )
            #expect(tool.errors.contains("denied: \(sentence)"), "\(tool)")
            try await self.end(brewer, source)
        }
    }

    @Test func aMoveOfItsOwnWaitsUntilWhatIsSeenAllowsIt() async throws {
        try await withTemporaryDirectory { directory in
            let (water, brew) = try self.pair(
                in: directory,
                """
                start: idle
                states:
                  idle: {after: {20ms: brewing}, when: {"water is low": brewing}}
                  brewing: {requires: ["water is low:level>=2"], when: {"water is ok": done}}
                  done: {final: true}
                """
            )
            let (source, brewer) = (try await water.start(), try await brew.start())
            let client = try source.connect(\.control)
            try await self.wait(brewer, forLink: #""overdue""#)
            _ = try await client.ask("set low level=1")
            try await self.wait(brewer, forLink: #""pending":["water is low"]"#)
            _ = try await client.ask("update level=2")
            try await self.wait(brewer, for: "brewing")
            _ = try await client.ask("set ok")
            let done = try await self.wait(brewer, for: "done")
            #expect(done.int("seq") == 2)
            let last = try await brewer.connect(\.control).ask(#"{"op":"history","limit":9}"#)
            #expect(last.description.contains(#""cause":"#))
            try await self.end(brewer, source)
        }
    }

    // MARK: - Nothing missed, nothing twice

    /// The rounds: each restarts or kills one of three daemons while another one changes.
    private static let rounds =
        ProcessInfo.processInfo.environment["STATEMACHINE_LINK_ROUNDS"].flatMap { Int($0) } ?? 9

    /// It was due before that was seen.
    @Test func aMoveThatWaitsIsTriedBeforeWhatTheChangeLeadsTo() async throws {
        try await withTemporaryDirectory { directory in
            let (water, brew) = try self.pair(
                in: directory,
                """
                start: idle
                states:
                  idle: {after: {20ms: [{if: water is low, to: late}, brewing]}, when: {"water is low": cold}}
                  brewing: {requires: water is empty}
                  late: {final: true}
                  cold: {final: true}
                """
            )
            let (source, brewer) = (try await water.start(), try await brew.start())
            try await self.wait(brewer, forLink: #""why":"brewing needs water empty; it is ok""#)
            _ = try await source.connect(\.control).ask("set low")
            let moved = try await self.wait(brewer, for: "!idle")
            #expect(moved.state == "late" && moved.string("cause") == "after 20ms", "\(moved)")
            try await self.end(brewer, source)
        }
    }

    @Test func nothingIsMissedAndNothingHappensTwiceOverRestarts() async throws {
        try await withTemporaryDirectory { directory in
            let source = try self.service(
                "source",
                in: directory,
                "machine: source\nstart: off\nstates: {off: {}, on: {}}\n"
            )
            let counter = try self.service(
                "counter",
                in: directory,
                """
                machine: counter
                links: {\(self.link("s", to: source))}
                moves: {most: 100000, in: 10ms}
                start: even
                fields: {n: {type: integer, default: 0}, kept: {type: integer, default: 0}}
                states:
                  even: {when: {"s is on": odd n+=1}}
                  odd: {when: {"s is off": even, "s is on": keep kept+=1}}
                """
            )
            let last = try self.service(
                "last",
                in: directory,
                """
                machine: last
                links: {\(self.link("c", to: counter)), \(self.link("s", to: source))}
                moves: {most: 100000, in: 10ms}
                start: counting
                states:
                  counting:
                    fields: {odd: {type: integer, default: 0}, on: {type: integer, default: 0}}
                    when: {"c is odd": keep odd+=1, "s is on": keep on+=1}
                """
            )
            let services = [source, counter, last]
            var daemons: [ActivatedDaemon] = []
            for service in services { daemons.append(try await service.start()) }
            var count = 0
            func cycle(_ times: Int) async throws {
                let client = try daemons[0].connect(\.control)
                for _ in 0..<times {
                    for state in ["on", "off"] {
                        let reply = try await client.ask("set \(state)")
                        guard reply.ok == true else { throw TestFailure("\(reply)") }
                    }
                    count += 1
                }
            }
            // What came before it was ever seen does not count.
            try await self.wait(daemons[1], forLink: #""link":"s","state":"off""#)
            try await self.wait(daemons[2], forLink: #""link":"c","state":"even""#)
            try await self.wait(daemons[2], forLink: #""link":"s","state":"off""#)
            var random = SeededGenerator(seed: 5)
            for round in 0..<Self.rounds {
                try await cycle(3)
                let which = round % 3
                let signal = [SIGKILL, SIGTERM, SIGUSR2][(round / 3) % 3]
                daemons[which].send(signal)
                _ = try await daemons[which].ended()
                // The others see nothing of it, or what it comes back with.
                if which > 0 { try await cycle(Int.random(in: 0...4, using: &random)) }
                daemons[which] = try await services[which].start()
                try await cycle(2)
            }
            try await self.wait(daemons[1], for: "even:n=\(count)")
            let end = try await self.wait(daemons[2], for: "counting:odd>=\(count),on>=\(count)")
            let data = try #require(end.item("data"))
            #expect(data.int("odd") == count && data.int("on") == count, "\(end), \(count)")
            // While it is odd, it has been on since before: on entering, and once only.
            let kept = try await daemons[1].connect(\.control).ask("get").item("data")?.int("kept")
            #expect(kept == count)
            for daemon in daemons { try await daemon.end() }
        }
    }

    @Test func whatIsHeldHappensOnceWhenItMay() async throws {
        try await withTemporaryDirectory { directory in
            let (water, brew) = try self.pair(
                in: directory,
                """
                start: brewing
                states:
                  brewing: {fields: {n: {type: integer, default: 0}}, when: {"water is empty": aborted, "water is low": keep n+=1}}
                  aborted: {fields: {n: {type: integer, default: 0}}}
                """
            )
            let (source, first) = (try await water.start(), try await brew.start())
            var brewer = first
            let hold = #"{"op":"hold","before":["aborted"],"as":"freeze","untilMs":60000000}"#
            #expect(try await brewer.connect(\.control).ask(hold).ok == true)
            let client = try source.connect(\.control)
            for _ in 0..<3 {
                _ = try await client.ask("set empty")
                _ = try await client.ask("set low")
            }
            try await self.wait(brewer, for: "brewing:n=3")
            try await self.wait(brewer, forLink: #""pending":["water is empty"]"#)
            // A second later what waits is on the disk, and with each change of the machine.
            try await brewer.end(by: SIGTERM)
            brewer = try await brew.start()
            try await self.wait(brewer, forLink: #""pending":["water is empty"]"#)
            #expect(try await brewer.connect(\.control).ask("get").state == "brewing")
            #expect(
                try await brewer.connect(\.control).ask(#"{"op":"release","as":"freeze"}"#).ok
                    == true
            )
            let aborted = try await self.wait(brewer, for: "aborted")
            #expect(aborted.item("data")?.int("n") == 3)
            try await self.end(brewer, source)
        }
    }

    @Test func aReloadSeesOtherMachinesAndForgetsSome() async throws {
        try await withTemporaryDirectory { directory in
            let (water, heater) = (
                try self.service("water", in: directory, Self.water),
                try self.service(
                    "heater",
                    in: directory,
                    Self.water.replacing("water", with: "heater")
                )
            )
            let text = """
                machine: brew
                start: idle
                states:
                  idle: {when: {}}
                  gone: {fields: {by: string}}
                """
            let brew = try self.service("brew", in: directory, text)
            let (first, second, brewer) = (
                try await water.start(), try await heater.start(), try await brew.start()
            )
            _ = try await second.connect(\.control).ask("set low")
            try await brew.reload(
                brewer,
                text.replacing(
                    "start: idle",
                    with: "start: idle\nlinks: {\(self.link("w", to: water))}"
                )
                .replacing("{when: {}}", with: #"{when: {"w is empty": gone by=water}}"#)
            )
            try await self.wait(brewer, forLink: #""link":"w","state":"ok""#)
            // The same name is another machine now.
            try await brew.reload(
                brewer,
                text.replacing(
                    "start: idle",
                    with: "start: idle\nlinks: {\(self.link("w", to: heater))}"
                )
                .replacing(
                    "{when: {}}",
                    with: #"{when: {"w is empty": gone by=heater, "w is tepid": gone by=none}}"#
                )
            )
            try await self.wait(
                brewer,
                forLink:
                    #""lacks":["w is tepid: there is no state \"tepid\"; known: ok, empty, low"]"#
            )
            _ = try await first.connect(\.control).ask("set empty")
            #expect(try await brewer.connect(\.control).ask("get").state == "idle")
            _ = try await second.connect(\.control).ask("set empty")
            let gone = try await self.wait(brewer, for: "gone")
            #expect(gone.item("data")?.string("by") == "heater")
            try await self.end(brewer, first, second)
        }
    }

    /// What was seen before a stay is not looked for in it: it begins with what its requirements were judged by.
    @Test func aStayBeginsWithWhatIsSeenThen() async throws {
        try await withTemporaryDirectory { directory in
            let (water, brew) = try self.pair(
                in: directory,
                """
                start: idle
                fields: {low: {type: integer, default: 0}, high: {type: integer, default: 0}}
                states:
                  idle: {when: {"water is low": brewing}}
                  brewing:
                    requires: ["water is low:level<3"]
                    when: {"water is low:level>=3": keep high+=1, "water is low": keep low+=1}
                """
            )
            let (source, brewer) = (try await water.start(), try await brew.start())
            try await self.wait(brewer, forLink: #""link":"water","state":"ok""#)
            _ = try await source.connect(\.control).ask("set low level=4")
            try await self.wait(brewer, forLink: #""pending":["water is low"]"#)
            let waiting = try await brewer.connect(\.control).ask("get")
            #expect(waiting.state == "idle")
            #expect(waiting.description.contains(#""pending":["water is low"]"#))
            _ = try await source.connect(\.control).ask("set low level=1")
            let begun = try await self.wait(brewer, for: "brewing:low=1")
            #expect(begun.item("data")?.int("high") == 0)
            try await self.end(brewer, source)
        }
    }

    /// Whether it matched last is known of a machine, not of a name.
    @Test func oneThatALinkIsPointedAtIsSeenAnew() async throws {
        try await withTemporaryDirectory { directory in
            let (water, brew) = try self.pair(
                in: directory,
                """
                start: idle
                fields: {n: {type: integer, default: 0}}
                states: {idle: {when: {"water is empty": keep n+=1}}}
                """
            )
            let other = try self.service("other", in: directory, Self.water)
            let (first, second, brewer) = (
                try await water.start(), try await other.start(), try await brew.start()
            )
            for source in [first, second] {
                _ = try await source.connect(\.control).ask("set empty")
            }
            try await self.wait(brewer, for: "idle:n=1")
            let text = try String(contentsOfFile: brew.file, encoding: .utf8)
            try await brew.reload(
                brewer,
                text.replacing(self.link("water", to: water), with: self.link("water", to: other))
            )
            try await self.wait(brewer, for: "idle:n=2")
            // One of the same name and place goes on.
            try await brew.reload(
                brewer,
                try String(contentsOfFile: brew.file, encoding: .utf8) + "about: b\n"
            )
            _ = try await second.connect(\.control).ask("set ok")
            _ = try await second.connect(\.control).ask("set empty")
            try await self.wait(brewer, for: "idle:n=3")
            try await self.end(brewer, first, second)
        }
    }

    // MARK: - Too much

    @Test func oneThatFlapsOpensTheBreakerAndSlowsNobody() async throws {
        try await withTemporaryDirectory { directory in
            let (water, brew) = try self.pair(
                in: directory,
                seeing: "w",
                """
                start: idle
                fields: {n: {type: integer, default: 0}}
                states:
                  idle: {when: {"w is empty": busy n+=1}}
                  busy: {when: {"w is ok": idle}}
                  other: {}
                """
            )
            let (source, brewer) = (try await water.start(), try await brew.start())
            let (client, observer) = (try source.connect(\.control), try brewer.connect(\.control))
            for _ in 0..<30 {
                for _ in 0..<50 {
                    _ = try await client.ask("set empty")
                    _ = try await client.ask("set ok")
                }
                #expect(try await observer.ask("ping").ok == true)
            }
            try await self.wait(brewer, forLink: #""suspended":{"moves":50"#)
            let seq = try #require(try await observer.ask("get").seq)
            #expect(seq == 50)
            #expect(try await observer.ask("set other").ok == true)
            try await self.wait(brewer, forLink: #""state":"ok""#)
            try await self.end(brewer, source)
        }
    }

    @Test func twoThatFollowEachOtherAreStoppedByTheirBreakers() async throws {
        try await withTemporaryDirectory { directory in
            func text(_ name: String, _ other: String) -> String {
                """
                machine: \(name)
                links: {o: {runtime-directory: \(directory)/\(other)/run}}
                start: a
                states:
                  a: {when: {"o is a": b}}
                  b: {when: {"o is b": a}}
                """
            }
            let (left, right) = (
                try self.service("left", in: directory, text("left", "right")),
                try self.service("right", in: directory, text("right", "left"))
            )
            let (first, second) = (try await left.start(), try await right.start())
            // At rest one follows and one does not, or both have moved too often.
            for daemon in [first, second] {
                #expect(try await daemon.connect(\.control).ask("ping").ok == true)
                let seq = try #require(try await daemon.connect(\.control).ask("get").seq)
                #expect(seq <= 50)
            }
            try await self.end(first, second)
        }
    }

    @Test func aLinkToItselfIsRefusedAtTheStart() async throws {
        try await withTemporaryDirectory { directory in
            let text = """
                start: a
                links: {me: {runtime-directory: \(directory)/me/run/}}
                states: {a: {requires: me is a}}
                """
            let me = try self.service("me", in: directory, text)
            let refused = try await me.refusal()
            #expect(refused.status == 78)
            #expect(
                refused.errors.contains(
                    "\(directory)/me/machine.yaml:2:13: \"me\" is this machine itself; "
                ),
                "\(refused.errors)"
            )
        }
    }
}

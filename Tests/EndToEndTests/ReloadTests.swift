import Foundation
import Glibc
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// SIGHUP: settings, and a machine's file that has been replaced.
@Suite(.bounded) struct ReloadTests {
    @Test func aHangUpReloadsAndDisturbsNobody() async throws {
        try await withService { service, daemon in
            let watcher = try daemon.connect(\.events)
            _ = try await watcher.next()
            daemon.send(SIGHUP)
            let message = try await service.notify.wait(for: "RELOADING=1")
            let stamp = message.split(separator: "=").last.flatMap { Int64($0) }
            #expect(message.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
            #expect(try #require(stamp) > 0)
            try await service.notify.wait(for: "READY=1")
            _ = try await daemon.connect(\.control).ask("set ready value=true")
            #expect(try await watcher.next().seq == 1)
            daemon.send(SIGTERM)
            #expect(try await watcher.next().string("reason") == "shutdown")
            #expect(try await daemon.ended().status == 0)
        }
    }

    @Test func limitsAndLogLevelAreReadAnew() async throws {
        try await withIdleService { service in
            let file = URL(filePath: "\(service.directory)/config.yaml")
            try Data("max-watches: 1\nlog-level: warning\n".utf8).write(to: file)
            let daemon = try await service.start(["--config", file.path])
            let client = try daemon.connect(\.control)
            _ = try await client.ask("watch")
            let second = #"{"op":"watch","id":2}"#
            #expect(try await client.ask(second).error == "limit")

            try Data("max-watches: 2\nring-changes: 7\nlog-level: info\n".utf8).write(to: file)
            try await service.reload(daemon)
            #expect(try await client.ask(second).type == "state")
            let limits = try #require(try await client.ask("describe").item("limits"))
            #expect(limits.int("watchesPerConnection") == 2)
            #expect(limits.int("ringChanges") == 4096)
            try await daemon.wait(forErrors: "atNextStart=ringChanges")
            try client.send("set ready value=true")
            try await daemon.wait(forErrors: "state=ready(true)")

            // A bad value changes nothing.
            try Data("max-watches: many\n".utf8).write(to: file)
            try await service.reload(daemon)
            try await daemon.wait(forErrors: "the reload was refused")
            #expect(try await daemon.end() == 0)
        }
    }

    private static let coffee = """
        machine: coffee
        version: 1
        start: idle
        events: {brew: {cups: integer}}
        states:
          idle: {when: {brew: brewing}}
          brewing:
            fields: {cups: {type: integer, min: 1, max: 8}, kind: {type: string, default: black}}
            after: {2h: idle}
          ready: {fields: {why: {type: string, default: none}}}
        """

    @Test func aDroppedStateRefusesTheReloadLoudly() async throws {
        try await withService(machine: Self.coffee) { machine, daemon in
            let client = try daemon.connect(\.control)
            _ = try await client.ask("set ready")
            let dropped = """
                start: idle
                states: {idle: {}}
                lost: idle
                """
            let refusal = try await machine.refuse(daemon, dropped)
            let sentence = #"the state "ready" no longer exists; write "was: ready""#
            #expect(refusal.contains(sentence))
            try await daemon.wait(forErrors: sentence)
            try await daemon.wait(forErrors: "the reload was refused")
            let mistakes = "start: on\nstates:\n  of: {to: [on], afer: {1s: of}}\n"
            let refused = try await machine.refuse(daemon, mistakes)
            #expect(refused.contains("; the reload was refused: \(machine.file):1:8: "))
            for place in ["1:8", "3:13", "3:18"] {
                try await daemon.wait(forErrors: "\(machine.file):\(place): ")
            }
            try machine.write(dropped)
            // Once the machine has left the dropped state, the reload is not refused.
            _ = try await client.ask("set idle")
            try await machine.reload(daemon)
            #expect(try await client.ask("set ready").error == "unknown-state")
            // Every new watch changes the status.
            let watch = try daemon.connect(\.events)
            _ = try await watch.next()
            var status = ""
            while !status.contains("1 watch") {
                status = try await machine.notify.wait(for: "STATUS=")
            }
            #expect(status == "STATUS=idle, seq 2, 1 watch")
            #expect(try await daemon.end() == 0)
        }
    }

    @Test(arguments: [false, true])
    func aCrowdLosesNothingBesideAFastSetter(isDurable: Bool) async throws {
        let rounds = 1500
        try await withService(machine: Self.coffee, isDurable: isDurable) { machine, daemon in
            let subscribers = try await Subscribers(100, at: daemon.events)
            let client = try daemon.connect(\.control)
            let second = Self.coffee + "\n  steam: {}\n"
            let third = second.replacing("brewing", with: "making")
                .replacing("  making:\n", with: "  making:\n    was: brewing\n")
            _ = try await client.ask("set brewing cups=1")
            let reading = Task { [last = rounds + 2] in
                let epoch = try await daemon.connect(\.control).ask("get").string("cursor")?
                    .split(separator: ":").first.map { String($0) }
                return try await subscribers.readAll(
                    upTo: "\"cursor\":\"\(epoch ?? "?"):\(last)\"}\n"
                )
            }
            var name = "brewing"
            var refused = 0
            for round in 1...rounds {
                if round == rounds / 3 {
                    try machine.write(second)
                    daemon.send(SIGHUP)
                }
                if round == rounds * 2 / 3 {
                    try await machine.reloaded()
                    try machine.write(third)
                    daemon.send(SIGHUP)
                }
                var reply = try await client.ask("set \(name) cups=\(round % 2 + 2)")
                if reply.error == "unknown-state" {
                    refused += 1
                    name = "making"
                    reply = try await client.ask("set \(name) cups=\(round % 2 + 2)")
                }
                #expect(reply.bool("changed") == true, "\(reply)")
            }
            try await machine.reloaded()
            #expect(refused == 1)
            let lines = try String(decoding: await reading.value, as: UTF8.self)
                .split(separator: "\n").map { try JSONLine(String($0)) }
            // Each set, the first one, and the change that the second reload makes.
            let changes = lines.filter { $0.type == "change" }
            #expect(changes.map(\.seq) == Array(1...rounds + 2))
            let own = changes.filter { !$0.has("by") }
            #expect(own.count == 1 && own[0].item("from")?.state == "brewing")
            #expect(own[0].state == "making")
            #expect(lines.filter { $0.type == "declared" }.count == 2)
            // Each line comes where its declaration takes effect.
            let at = lines.indices.filter { lines[$0].type == "declared" }
            for index in at { #expect(lines[index - 1].seq == lines[index].seq) }
            #expect(lines.count == rounds + 4)
            for index in lines.indices where lines[index].type == "change" {
                let isNew = lines[index].seq ?? 0 >= own[0].seq ?? 0
                #expect(lines[index].state == (isNew ? "making" : "brewing"))
            }
            #expect(try await daemon.end() == 0)
        }
    }

    @Test func subscribersAreToldOverARestart() async throws {
        try await withService(machine: Self.coffee, isDurable: true) { machine, daemon in
            let watch = try daemon.connect(\.events)
            _ = try await watch.next()
            _ = try await daemon.connect(\.control).ask("set brewing cups=2")
            #expect(try await watch.next().seq == 1)
            #expect(try await daemon.end(by: SIGUSR2) == 0)
            try machine.write(
                Self.coffee.replacing("brewing", with: "making")
                    .replacing("  making:\n", with: "  making:\n    was: brewing\n")
            )
            let second = try await machine.start()
            let change = try await watch.next()
            #expect(change.seq == 2 && change.state == "making")
            let declared = try await watch.next()
            #expect(declared.type == "declared" && declared.seq == 2)
            #expect(try await watch.next().type == "live")
            // The same file causes no `declared` line.
            #expect(try await second.end(by: SIGUSR2) == 0)
            let third = try await machine.start()
            _ = try await third.connect(\.control).ask("set idle")
            #expect(try await watch.next().seq == 3)
            #expect(try await third.end() == 0)
        }
    }

    private static let stove = """
        start: off
        events: {power: {}}
        states:
          off: {when: {power: heating}}
          heating: {fields: {celsius: {type: integer, default: 20}}}
          cooling: {}
        """

    private static let renamed = """
        start: off
        events: {power: {}}
        states:
          off: {when: {power: warming}}
          warming: {was: heating, fields: {degrees: {type: integer, default: 20, was: celsius}}}
          cooling: {}
        """

    @Test func aHoldFollowsARenameOverARestart() async throws {
        try await withService(machine: Self.stove, isDurable: true) { machine, daemon in
            let voter = try daemon.connect(\.control)
            #expect(try await voter.ask(#"{"op":"hold","before":["heating"]}"#).ok == true)
            #expect(try await daemon.end(by: SIGUSR2) == 0)
            try machine.write(Self.renamed)
            let next = try await machine.start()
            #expect(try await next.connect(\.control).ask("send power").error == "denied")
            #expect(try await next.end() == 0)
        }
    }

    @Test func aHoldOnWhatIsGoneIsToldOf() async throws {
        try await withService(machine: Self.stove) { machine, daemon in
            let voter = try daemon.connect(\.control)
            _ = try await voter.ask(#"{"op":"hold","before":["cooling"]}"#)
            _ = try await voter.ask(#"{"op":"hold","before":["heating"]}"#)
            try await machine.reload(
                daemon,
                Self.renamed.replacing("cooling: {}", with: "cold: {}")
            )
            try await daemon.wait(forErrors: "a hold or guard matches no state")
            daemon.send(SIGTERM)
            let (errors, status) = try await daemon.ended()
            #expect(status == 0)
            #expect(errors.contains(#"before="cooling""#), "\(errors)")
            #expect(!errors.contains(#"before="heating""#))
        }
    }

    /// What no state can match any more is shown as such, and is said at a start, too.
    @Test func aHoldThatIsVoidIsShownAsSuch() async throws {
        try await withService(machine: Self.stove, isDurable: true) { machine, daemon in
            let voter = try daemon.connect(\.control)
            _ = try await voter.ask(#"{"op":"hold","before":["heating:celsius>=90"]}"#)
            _ = try await voter.ask(#"{"op":"hold","before":["heating"]}"#)
            let named = #"{"op":"hold","before":["cooling"],"as":"cold","untilMs":600000}"#
            #expect(try await voter.ask(named).ok == true)
            let holds = { (daemon: ActivatedDaemon) in
                try #require(try await daemon.connect(\.control).ask("stats").items("holds"))
                    .map { $0.bool("void") }
            }
            #expect(try await holds(daemon) == [nil, nil, nil])
            let waiter = try daemon.connect(\.control)
            try waiter.send(#"{"op":"wait","until":["heating:celsius>=95"]}"#)
            // It has been read once this is answered.
            _ = try await waiter.ask("ping")
            // A field of a state is gone, and a state.
            let next = Self.stove.replacing(
                ", fields: {celsius: {type: integer, default: 20}}",
                with: ""
            )
            .replacing("{fields: {celsius: {type: integer, default: 20}}}", with: "{}")
            .replacing("cooling: {}", with: "cold: {}")
            try await machine.reload(daemon, next)
            #expect(try await waiter.next().error == "unknown-state")
            #expect(try await holds(daemon) == [true, nil, true])
            let shown = try await runTool(
                .path(.init(try BuiltProduct.statectl.path)),
                ["--runtime-directory", daemon.directory, "status"]
            ).output
            #expect(shown.contains("without effect: there is no such state now"), "\(shown)")
            #expect(try await daemon.end() == 0)
            let again = try await machine.start()
            try await again.wait(forErrors: #"before="cooling""#)
            #expect(try await again.end() == 0)
        }
    }

    @Test func aConditionOnAFieldThatIsGoneRefusesTheReload() async throws {
        let machine = """
            start: off
            events: {power: {}}
            states:
              off:
                fields: {celsius: {type: integer, default: 20}}
                when: {power: [{if: celsius<90, to: heating}, ignore]}
              heating: {}
            """
        try await withService(machine: machine) { service, daemon in
            let without = machine.replacing(
                "    fields: {celsius: {type: integer, default: 20}}\n",
                with: ""
            )
            let refusal = try await service.refuse(daemon, without)
            #expect(
                refusal.contains(#":5:25: neither the event nor "off" has a field "celsius""#),
                "\(refusal)"
            )
            // The old one goes on.
            #expect(try await daemon.connect(\.control).ask("send power").state == "heating")
            #expect(try await daemon.end() == 0)
        }
    }

    /// A default that comes with a new file counts as what a client gives does.
    @Test func aReloadDoesNotMakeAStateTooLong() async throws {
        let machine = """
            start: off
            states: {off: {fields: {note: {type: string, default: ""}}}}
            """
        try await withService(machine: machine, isDurable: true) { service, daemon in
            let client = try daemon.connect(\.control)
            let note = String(repeating: "x", count: 40_000)
            #expect(
                try await client.ask(#"{"op":"set","state":"off","data":{"note":"\#(note)"}}"#).ok
                    == true
            )
            let longer = machine.replacing(
                "fields: {",
                with: "fields: {more: {type: string, default: \(note)}, "
            )
            let refusal = try await service.refuse(daemon, longer)
            #expect(refusal.contains("the state is too long: it has 80"), "\(refusal)")
            #expect(try await client.ask("get").item("data")?.string("note") == note)
            #expect(try await daemon.end() == 0)
            let start = try await service.refusal()
            #expect(start.status == EX_CONFIG && start.errors.contains("the state is too long"))
        }
    }

    @Test func whatLooksTheSameIsNoChange() async throws {
        try await withService(machine: Self.coffee, isDurable: true) { machine, daemon in
            let watch = try daemon.connect(\.events)
            _ = try await watch.next()
            let client = try daemon.connect(\.control)
            _ = try await client.ask("set ready")
            // The same file is not another declaration.
            try await machine.reload(daemon)
            try await machine.reload(daemon, Self.coffee + "\n  steam: {}\n")
            #expect(try await watch.next().seq == 1)
            let declared = try await watch.next()
            #expect(declared.type == "declared" && declared.seq == 1)
            #expect(try await client.ask("set ready").bool("changed") == false)
            #expect(try await client.ask("set steam").seq == 2)
            #expect(try await watch.next().seq == 2)
            #expect(try await daemon.end() == 0)
            #expect(try machine.column("SELECT seq FROM declaration ORDER BY id") == ["0", "1"])
            #expect(try machine.column("SELECT text FROM declaration LIMIT 1") == [Self.coffee])
        }
    }

    @Test(arguments: [false, true])
    func aRenamedStatesDeadlineCountsFromTheSameMoment(isDurable: Bool) async throws {
        try await withService(machine: Self.coffee, isDurable: isDurable) { machine, daemon in
            let client = try daemon.connect(\.control)
            let begun = try await client.ask("send brew cups=3")
            let newer = Self.coffee.replacing("brewing:", with: "making: {was: brewing,")
                .replacing("brewing", with: "making")
                .replacing("making: {was: making,", with: "making:\n    was: brewing")
                .replacing("2h", with: "3h")
            try await machine.reload(daemon, newer)
            // The deadline still counts from the same moment.
            let got = try await client.ask("get")
            let (old, new) = (begun.item("due")?.string("at"), got.item("due")?.string("at"))
            let hour = try Self.seconds(from: #require(old), to: #require(new))
            #expect(hour == 3600)
            #expect(got.item("due")?.state == "idle")

            // A client that resumes is not sent `declared` again.
            let again = try daemon.connect(\.control)
            try again.send(#"{"op":"watch","since":"\#(try #require(begun.string("cursor")))"}"#)
            #expect(try await again.next().state == "making")
            #expect(try await again.next().type == "live")
            #expect(try await daemon.end() == 0)
        }
    }

    private static func seconds(from old: String, to new: String) throws -> Int {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return Int((try style.parse(new)).timeIntervalSince(try style.parse(old)).rounded())
    }
}
